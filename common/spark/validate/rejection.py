"""Rejections: conditions that turn a record away. The first one that applies counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.model.disposition import MESSAGE, REASON

REJECTION = "_rejection"


@dataclass(frozen=True, eq=False)
class Rejection:
    """The code of a reason, the records it applies to, and the message for them."""

    code: str
    applies: Column
    message: Column

    @cached_property
    def where_it_applies(self) -> Column:
        return F.when(self.applies, F.struct(F.lit(self.code), self.message))


def with_reason(rows: DataFrame, rejections: Sequence[Rejection]) -> DataFrame:
    """Add `_reason` and `_message` of the first rejection that applies, null where none does. `_rejection` has both."""
    first = F.coalesce(*(each.where_it_applies for each in rejections)).cast("struct<code:string,message:string>")
    parts = (F.col(f"{REJECTION}.code").alias(REASON), F.col(f"{REJECTION}.message").alias(MESSAGE))
    return rows.select("*", first.alias(REJECTION), *parts)
