"""Verdicts: tests that a record must not meet, in the order in which they count."""

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

REASON = "_reason"
MESSAGE = "_message"
VERDICT = "_verdict"


class Verdict(NamedTuple):
    """A code, the records it applies to, and the words for them."""

    code: str
    applies: Column
    message: Column


def first_of(verdicts: Sequence[Verdict]) -> Column:
    """The first verdict that applies, null where none does."""
    first = F.coalesce(*(F.when(each.applies, F.struct(F.lit(each.code), each.message)) for each in verdicts))
    return first.cast("struct<code:string,message:string>")


def with_reason(rows: DataFrame, verdict: Column) -> DataFrame:
    """Adds `_reason` and `_message`, null where there is no verdict."""
    judged = rows.withColumn(VERDICT, verdict)
    return judged.withColumns({REASON: F.col(f"{VERDICT}.code"), MESSAGE: F.col(f"{VERDICT}.message")}).drop(VERDICT)
