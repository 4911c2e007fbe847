"""What the accounts ask: of a few records in this process, of many by a query, and both say the same."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common import ask
from common.ask import Watch, in_words
from common.errors import TryLater
from common.pipeline.questions import InMemory, InSpark
from tests.support.records import records, with_fates_of_json
from tests.support.trial import pipeline

VALUES = (
    b'{"id": 1, "part": "a", "degrees": 1.5}',
    b'{"id": 1, "part": "a", "degrees": 2.5}',
    b'{"id": 70, "part": "b", "degrees": 3.5}',
    b'{"id": null, "part": "b", "degrees": 3.5}',
    b"not json",
    None,
)


@pytest.mark.parametrize("values", [VALUES, VALUES[:1], VALUES[4:], ()], ids=["all", "one", "bad", "none"])
@pytest.mark.parametrize("prune_by", [[], ["id", "part"]], ids=["unbounded", "bounded"])
def test_both_ways_say_the_same(spark: SparkSession, values: tuple[bytes | None, ...], prune_by: list[str]) -> None:
    declared = pipeline("t", target={"keys": ["id", "part"], "prune_by": prune_by})
    rows = records(spark, *values).union(records(spark, *values[1:3], partition=2))
    judged = with_fates_of_json(rows, declared)
    answers = InMemory(judged, declared).answers()
    assert answers == InSpark(judged, declared).answers()
    assert sum(each.rows for each in answers.tally.values()) == rows.count()
    assert bool(answers.unclear) == (len(values) == len(VALUES)), "a key of two partitions"


def test_an_answer_that_never_comes_is_not_waited_for(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    monkeypatch.setattr(ask, "PATIENCE_SECONDS", 0.1)
    watch = Watch()
    watch.on(spark.range(3), in_words(F.count("*").alias("rows")))
    with pytest.raises(TryLater, match="Spark has not told within"):
        watch.answer()
