"""Small questions of many rows: several in one query, or in passing, while the rows go by for another reason.

As queries of their own, each would take longer to plan than to answer.
"""

import json
from collections.abc import Mapping
from functools import cache, reduce
from typing import Any, cast

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F

# One row of an answer. What is null in it is missing.
Answer = Mapping[str, Any]
IN_WORDS = "in_words"


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
        """Not by Observation.get: it iterates, and a Java iteration ends with an exception, which takes the longest."""
        found = cast("Any", self._observation)._jo.getAsJava().get(IN_WORDS)
        return cast("Answer", json.loads(found))


def in_words(*columns: Column) -> Column:
    return F.to_json(F.struct(*columns)).alias(IN_WORDS)
