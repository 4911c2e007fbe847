"""What the accounts ask, of rows that this process holds and by a query: both say the same."""

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from common.engine.materialized_batch import materialize
from common.errors import TryLater
from common.model.limits import Limits
from common.spark.classify import classify
from common.spark.decode.json import JsonDecoder
from common.spark.queries import ObservedMetrics, as_json
from common.spark.source import as_records
from tests.support.records import records
from tests.support.trial import pipeline

UNDIVIDED = Limits(divided_values=0)
IN_SPARK = Limits(divided_values=0, collected_bytes=-1)
VALUES = (
    b'{"id": 1, "part": "a", "degrees": 1.5, "at": "2023-01-10T12:00"}',
    b'{"id": 1, "part": "a", "degrees": 2.5, "at": "2023-01-10T12:00"}',
    b'{"id": 70, "part": "b", "degrees": 3.5, "at": "2023-01-10T12:00"}',
    b'{"id": 71, "part": "b", "degrees": 3.5, "at": "2023-01-09T12:00"}',
    b'{"id": null, "part": "b", "degrees": 3.5, "at": "2023-01-10T12:00"}',
    b"not json",
    None,
)


@pytest.mark.parametrize("values", [VALUES, VALUES[:1], VALUES[5:], ()], ids=["all", "one", "bad", "none"])
@pytest.mark.parametrize("prune_by", [[], ["id", "part"]], ids=["undeclared", "declared"])
@pytest.mark.parametrize("is_fetched", [True, False], ids=["fetched", "collected"])
def test_every_batch_says_the_same(
    spark: SparkSession, values: tuple[bytes | None, ...], prune_by: list[str], *, is_fetched: bool
) -> None:
    """Keys that nobody has asked to prune by are one range in Spark, and in the driver where they are many."""
    late = {"column": "at", "bound": "1h", "action": "keep"}
    columns = {"id": "bigint", "part": "string", "degrees": "double", "at": "timestamp"}
    target = {"keys": ["id", "part"], "prune_by": prune_by}
    declared = pipeline("t", source={"columns": columns}, target=target, late=late)
    rows = records(spark, *values).union(records(spark, *values[1:3], partition=2))
    classified = classify(as_records(rows), declared, JsonDecoder.of(declared.source))
    kept = materialize(classified, declared, UNDIVIDED, is_fetched=is_fetched).deduplicate()
    in_spark = materialize(classified, declared, IN_SPARK, is_fetched=False).deduplicate()
    stats = kept.stats()
    assert kept.arrow is not None
    assert in_spark.arrow is None
    assert stats == in_spark.stats()
    assert list(stats.value_ranges) == ["id", "part"]
    assert offsets(kept.to_merge) == offsets(in_spark.to_merge)
    assert offsets(kept.rows) == offsets(in_spark.rows)
    assert sum(each.rows for each in stats.tally.values()) == rows.count()
    assert bool(stats.ambiguous) == (len(values) == len(VALUES)), "a key of two partitions"


def offsets(rows: DataFrame) -> list[Row]:
    return sorted(rows.select("_record.partition", "_record.offset").collect())


def test_an_answer_that_never_comes_is_not_waited_for(spark: SparkSession) -> None:
    watch = ObservedMetrics(patience_seconds=0.1)
    watch.on(spark.range(3), as_json(F.count("*").alias("rows")))
    with pytest.raises(TryLater, match="Spark has not told within"):
        watch.answer()
