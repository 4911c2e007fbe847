"""Tombstones: a record without a value deletes the row of its key, where the pipeline says so.

Such a record has only its message key. The same decoder decodes it in the place of the value. So a key has the same
canonical form in both, and nothing that would be refused in a value passes in a key.
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
    """Add `_deleted`, and set the value of each tombstone to its key, to be decoded. `as_sent` restores the record."""
    value, key = F.col(f"{RECORD}.value"), F.col(f"{RECORD}.key")
    lent = F.col(RECORD).withField("value", F.coalesce(value, key))
    return records.withColumns({DELETED: value.isNull(), _AS_SENT: F.col(RECORD)}).withColumn(RECORD, lent)


def as_sent(records: DataFrame) -> DataFrame:
    return records.withColumn(RECORD, F.col(_AS_SENT)).drop(_AS_SENT)


def of_events(rejections: Sequence[Rejection]) -> list[Rejection]:
    """Limit rejections to records with a value, because a tombstone has no columns beside its key."""
    return [replace(rejection, applies=~F.col(DELETED) & rejection.applies) for rejection in rejections]


def of_tombstones(rejections: Sequence[Rejection]) -> list[Rejection]:
    """Apply the same rejections to a message key. Whatever is wrong with it, the row to delete cannot be found."""
    no_key = Rejection(BAD_KEY, is_tombstone_without_key(), F.lit("the record has neither value nor key"))
    return [no_key, *(_of_key(rejection) for rejection in rejections)]


def is_tombstone_without_key() -> Column:
    return F.col(DELETED) & F.col(f"{RECORD}.key").isNull()


def _of_key(rejection: Rejection) -> Rejection:
    message = F.concat(F.lit("message key: "), rejection.message)
    return Rejection(BAD_KEY, F.col(DELETED) & rejection.applies, message)
