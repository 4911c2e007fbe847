"""Verdicts: tests that a record must not meet, in the order in which they count."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

REASON = "_reason"
MESSAGE = "_message"
VERDICT = "_verdict"


@dataclass(frozen=True, eq=False)
class Verdict:
    """A code, the records it applies to, and the words for them."""

    code: str
    applies: Column
    message: Column

    @cached_property
    def where_it_applies(self) -> Column:
        return F.when(self.applies, F.struct(F.lit(self.code), self.message))


def with_reason(rows: DataFrame, verdicts: Sequence[Verdict]) -> DataFrame:
    """Adds `_reason` and `_message` of the first verdict that applies, null where none does."""
    first = F.coalesce(*(each.where_it_applies for each in verdicts))
    judged = rows.withColumn(VERDICT, first.cast("struct<code:string,message:string>"))
    return judged.withColumns({REASON: F.col(f"{VERDICT}.code"), MESSAGE: F.col(f"{VERDICT}.message")}).drop(VERDICT)
