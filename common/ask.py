"""Small questions of many rows: several in one query, or in passing, while the rows go by for another reason.

As queries of their own, each would take longer to plan than to answer.
"""

import json
from collections.abc import Mapping
from functools import cache, reduce
from typing import Any, cast

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

from common.errors import TryLater
from common.waiting import await_true

# One row of an answer. What is null in it is missing.
Answer = Mapping[str, Any]
IN_WORDS = "in_words"
PATIENCE_SECONDS = 60


def ask(questions: Mapping[str, DataFrame]) -> dict[str, list[Answer]]:
    """The rows of each, which should be few."""
    asked = [rows.select(*as_answer(name)) for name, rows in questions.items()]
    found: dict[str, list[Answer]] = {name: [] for name in questions}
    for question, answer in reduce(DataFrame.union, asked).collect():
        found[question].append(json.loads(answer))
    return found


@cache
def as_answer(question: str) -> tuple[Column, Column]:
    return F.lit(question).alias("question"), F.to_json(F.struct("*")).alias("answer")


class Watch:
    """A question in passing: what is aggregated of rows while the next action computes them."""

    def __init__(self) -> None:
        self._observation = Observation()

    def on(self, rows: DataFrame, told: Column) -> DataFrame:
        """`told` is the answer as one text, by `in_words`: to get several values out of the JVM takes several calls."""
        return rows.observe(self._observation, told)

    def answer(self) -> Answer:
        """After that action. Spark brings the answer along by a way of its own, on which it can be lost: then nobody
        must wait for ever, as Observation.get would. It also iterates, and a Java iteration ends with an exception."""
        observed = cast("Any", self._observation)._jo
        if not await_true(lambda: bool(observed.future().isCompleted()), PATIENCE_SECONDS, pause=0.001):
            raise TryLater(f"Spark has not told within {PATIENCE_SECONDS} s what it has counted", "run it again")
        return cast("Answer", json.loads(observed.getAsJava().get(IN_WORDS)))


def in_words(*columns: Column) -> Column:
    return F.to_json(F.struct(*columns)).alias(IN_WORDS)
