"""Several small questions in one query: as queries of their own, each would take longer to plan than to answer."""

import json
from collections.abc import Mapping
from functools import cache, reduce
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

# One row of an answer. What is null in it is missing.
Answer = Mapping[str, Any]


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
