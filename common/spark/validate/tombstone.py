"""Tombstones: a record without a value deletes the row of its key, where the pipeline says so.

All that such a record tells is its message key. It is decoded in the value's place, by the same decoder: so a key has
the same canonical form in both, and nothing that would be refused in a value passes in a key.
"""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.model.disposition import DELETED
from common.model.record import RECORD
from common.spark.validate.rejection import Rejection

BAD_KEY = "BAD_KEY"
_AS_SENT = "_record_as_sent"


def with_key_as_value(records: DataFrame) -> DataFrame:
    """Adds `_deleted`, and lends each tombstone its key as value, to be decoded; `as_sent` takes it back."""
    value, key = F.col(f"{RECORD}.value"), F.col(f"{RECORD}.key")
    lent = F.col(RECORD).withField("value", F.coalesce(value, key))
    return records.withColumns({DELETED: value.isNull(), _AS_SENT: F.col(RECORD)}).withColumn(RECORD, lent)


def as_sent(records: DataFrame) -> DataFrame:
    return records.withColumn(RECORD, F.col(_AS_SENT)).drop(_AS_SENT)


def of_events(rejections: Sequence[Rejection]) -> list[Rejection]:
    """What counts for a record with a value only: a tombstone has no columns beside its key."""
    return [replace(rejection, applies=~F.col(DELETED) & rejection.applies) for rejection in rejections]


def of_tombstones(rejections: Sequence[Rejection]) -> list[Rejection]:
    """The same tests on a message key; whatever is wrong with it, the row to delete cannot be found."""
    no_key = Rejection(BAD_KEY, is_tombstone_without_key(), F.lit("the record has neither value nor key"))
    return [no_key, *(_of_key(rejection) for rejection in rejections)]


def is_tombstone_without_key() -> Column:
    return F.col(DELETED) & F.col(f"{RECORD}.key").isNull()


def _of_key(rejection: Rejection) -> Rejection:
    message = F.concat(F.lit("message key: "), rejection.message)
    return Rejection(BAD_KEY, F.col(DELETED) & rejection.applies, message)
