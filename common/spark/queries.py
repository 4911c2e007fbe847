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

# One row of an answer. What is null in it is missing.
JsonRow = Mapping[str, Any]
AS_JSON = "in_words"
PATIENCE_SECONDS = 60


def collect_many(questions: Mapping[str, DataFrame]) -> dict[str, list[JsonRow]]:
    """Collect the rows of each query, which should be few, by one query."""
    asked = [rows.select(*as_answer(name)) for name, rows in questions.items()]
    found: dict[str, list[JsonRow]] = {name: [] for name in questions}
    for question, answer in reduce(DataFrame.union, asked).collect():
        found[question].append(json.loads(answer))
    return found


@cache
def as_answer(question: str) -> tuple[Column, Column]:
    return F.lit(question).alias("question"), F.to_json(F.struct("*")).alias("answer")


class ObservedMetrics:
    """Aggregates of rows, computed while the next action computes the rows."""

    def __init__(self, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self._observation, self._patience_seconds = Observation(), patience_seconds

    def on(self, rows: DataFrame, told: Column) -> DataFrame:
        """Observe aggregates as one text, by `as_json`: to get several values out of the JVM takes several calls."""
        return rows.observe(self._observation, told)

    def answer(self) -> JsonRow:
        """The aggregates, after that action.

        Spark brings them along by a way of its own, on which they can be lost: then nobody must wait for ever, as
        Observation.get would. It also iterates, and a Java iteration ends with an exception.
        """
        observed = java_observation(self._observation)
        if not await_true(lambda: bool(observed.future().isCompleted()), self._patience_seconds, pause=0.001):
            waited = f"{self._patience_seconds:g} s"
            raise TryLater(f"Spark has not told within {waited} what it has counted", "run it again")
        return cast("JsonRow", json.loads(observed.getAsJava().get(AS_JSON)))


def as_json(*columns: Column) -> Column:
    return F.to_json(F.struct(*columns)).alias(AS_JSON)
