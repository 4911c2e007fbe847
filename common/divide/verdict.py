"""Verdicts: tests that a record must not meet, in the order in which they count."""

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

REASON = "_reason"
MESSAGE = "_message"


class Verdict(NamedTuple):
    """A code, the records it applies to, and the words for them."""

    code: str
    applies: Column
    message: Column


def with_reason(rows: DataFrame, verdicts: Sequence[Verdict]) -> DataFrame:
    """Adds `_reason` and `_message` of the first verdict that applies, null where none does."""
    reason, message = F.lit(None).cast("string"), F.lit(None).cast("string")
    for verdict in reversed(verdicts):
        applies = F.coalesce(verdict.applies, F.lit(False))  # noqa: FBT003
        reason = F.when(applies, F.lit(verdict.code)).otherwise(reason)
        message = F.when(applies, verdict.message).otherwise(message)
    return rows.withColumns({REASON: reason, MESSAGE: message})
