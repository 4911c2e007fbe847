"""Rejections: conditions that turn a record away. The first one that applies counts."""

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, eq=False)
class Rejection:
    """The code of a reason, the records it applies to, and the message for them."""

    code: str
    applies: Column
    message: Column

    @cached_property
    def where_it_applies(self) -> Column:
        return F.when(self.applies, F.struct(F.lit(self.code), self.message))
