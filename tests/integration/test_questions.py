"""What the accounts ask, of rows that this process holds and by a query: both say the same."""

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from structlog.testing import capture_logs

from common.engine import materialized_batch as questions
from common.engine.materialized_batch import Materializer, materialize_fetched, materialize_in_spark, materialize_read
from common.errors import TryLater
from common.spark import queries as collect_many
from common.spark.classify import classify
from common.spark.decode.json import JsonDecoder
from common.spark.queries import ObservedMetrics, as_json
from tests.support.records import records
from tests.support.trial import pipeline

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
@pytest.mark.parametrize("keep", [materialize_fetched, materialize_read])
def test_both_ways_say_the_same(
    spark: SparkSession,
    values: tuple[bytes | None, ...],
    prune_by: list[str],
    keep: Materializer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys that nobody has asked to prune by are one range in Spark, and here where they are many."""
    monkeypatch.setattr(questions, "DIVIDED", 0)
    late = {"column": "at", "bound": "1h", "action": "keep"}
    columns = {"id": "bigint", "part": "string", "degrees": "double", "at": "timestamp"}
    target = {"keys": ["id", "part"], "prune_by": prune_by}
    declared = pipeline("t", source={"columns": columns}, target=target, late=late)
    rows = records(spark, *values).union(records(spark, *values[1:3], partition=2))
    judged = classify(rows, declared, JsonDecoder.of(declared.source))
    kept, in_spark = keep(judged, declared), materialize_in_spark(judged, declared)
    stats = kept.stats()
    assert kept.arrow is not None
    assert stats == in_spark.stats()
    assert list(stats.value_ranges) == ["id", "part"]
    assert offsets(kept.to_merge) == offsets(in_spark.to_merge)
    assert offsets(kept.rows) == offsets(in_spark.rows)
    assert sum(each.rows for each in stats.tally.values()) == rows.count()
    assert bool(stats.ambiguous) == (len(values) == len(VALUES)), "a key of two partitions"


def test_what_is_nothing_for_this_process_is_kept_and_counted_by_spark(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise pa.ArrowInvalid("no such value")

    monkeypatch.setattr(questions, "DIVIDED", 0)
    declared = pipeline("t")
    judged = classify(records(spark, *VALUES), declared, JsonDecoder.of(declared.source))
    wanted = materialize_read(judged, declared).stats()
    monkeypatch.setattr(questions, "fold_held", refuse)
    with capture_logs() as lines:
        kept = materialize_read(judged, declared)
    assert [line["reason"] for line in lines] == ["no such value"]
    assert kept.arrow is None
    assert kept.stats() == wanted


def offsets(rows: DataFrame) -> list[Row]:
    return sorted(rows.select("_record.partition", "_record.offset").collect())


def test_an_answer_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    monkeypatch.setattr(collect_many, "PATIENCE_SECONDS", 0.1)
    watch = ObservedMetrics()
    watch.on(spark.range(3), as_json(F.count("*").alias("rows")))
    with pytest.raises(TryLater, match="Spark has not told within"):
        watch.answer()
