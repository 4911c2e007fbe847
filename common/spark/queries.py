"""Run several small aggregates as one query, or observe one while another action runs.

As queries of their own, each would take longer to plan than to answer.
"""

import json
from collections.abc import Mapping
from functools import cache, reduce
from typing import Any, cast

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from common.errors import TryLater
from common.spark.jvm import java_observation
from common.waiting import await_true

# One row of an answer. A null column is missing in it.
JsonRow = Mapping[str, Any]
AS_JSON = "as_json"
PATIENCE_SECONDS = 60


def collect_many(questions: Mapping[str, DataFrame]) -> dict[str, list[JsonRow]]:
    """Collect the rows of each query, which should be few, by one query."""
    asked = [rows.select(*as_answer(name)) for name, rows in questions.items()]
    answers: dict[str, list[JsonRow]] = {name: [] for name in questions}
    for question, answer in reduce(DataFrame.union, asked).collect():
        answers[question].append(json.loads(answer))
    return answers


@cache
def as_answer(question: str) -> tuple[Column, Column]:
    return F.lit(question).alias("question"), F.to_json(F.struct("*")).alias("answer")


class ObservedMetrics:
    """Aggregates of rows, computed while the next action computes the rows."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._observation, self._patience_seconds = Observation(), patience_seconds

    def on(self, rows: DataFrame, aggregates: Column) -> DataFrame:
        """Observe aggregates as one text, by `as_json`, because each value from the JVM takes a call."""
        return rows.observe(self._observation, aggregates)

    def answer(self) -> JsonRow:
        """Return the aggregates, after that action.

        Spark delivers them apart from the action, and can lose them. Observation.get would then wait for ever. It also
        iterates, and a Java iteration ends with an exception.
        """
        observed = java_observation(self._observation)
        if not await_true(lambda: bool(observed.future().isCompleted()), self._patience_seconds, pause=0.001):
            waited = f"{self._patience_seconds:g} s"
            raise TryLater(f"Spark has not told within {waited} what it has counted", "run it again")
        return cast("JsonRow", json.loads(observed.getAsJava().get(AS_JSON)))


def as_json(*columns: Column) -> Column:
    return F.to_json(F.struct(*columns)).alias(AS_JSON)
