"""Give each record the disposition that it has by itself: merge, late, quarantined, or null.

A record to merge may still become `folded`, where the batch has a newer one of its key: rules/deduplicate.py.
"""

from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.durations import seconds
from common.kafka.consumer import FURTHEST_MS
from common.model.disposition import DELETED, LATE, MERGE, NULL, QUARANTINED, REASON
from common.model.record import RECORD
from common.settings.pipeline import Pipeline
from common.settings.quality import Late
from common.settings.target import POSITION
from common.spark.validate.rejection import Rejection
from common.spark.validate.timestamps import is_readable, moment


# Columns belong to no table and take hundreds of calls to make. They are made once for a pipeline, not for each batch.
@cache
def pipeline_rejections(pipeline: Pipeline) -> tuple[Rejection, ...]:
    """Reject what decoding lets pass and the pipeline does not."""
    broken_rules = [
        Rejection(f"RULE_{rule.name}", ~F.coalesce(F.expr(rule.check), F.lit(True)), F.lit(rule.check))  # noqa: FBT003
        for rule in pipeline.quality.rules
    ]
    return (*no_key(pipeline), *no_sequence(pipeline), *broken_rules, *wrong_times(pipeline.late))


def no_key(pipeline: Pipeline) -> list[Rejection]:
    """Reject keys that are null, and empty texts in a key that partitions the table.

    Delta stores an empty partition value as null, and no event would ever find its row.
    """
    words = "is empty, and a key that partitions the table"
    nulls = [
        Rejection("NULL_KEY", F.col(key).isNull(), F.lit(f"{key} is null, and a key of the table"))
        for key in pipeline.target.keys
    ]
    empty = [Rejection("EMPTY_KEY", is_empty(key), F.lit(f"{key} {words}")) for key in partition_keys(pipeline)]
    return [*nulls, *empty]


def partition_keys(pipeline: Pipeline) -> list[str]:
    """Return the keys that partition the table."""
    return [key for key in pipeline.target.keys if key in pipeline.target.partition_by]


def is_empty(name: str) -> Column:
    """Compare as text, because the type of a derived column is not known here. Other types have no empty value."""
    return F.col(name).cast("string") == ""


def no_sequence(pipeline: Pipeline) -> list[Rejection]:
    column = pipeline.target.sequence
    if column == POSITION:
        return []
    return [Rejection("NULL_SEQUENCE", F.col(column).isNull(), F.lit(f"{column} is null, and orders the events"))]


def wrong_times(late: Late | None) -> list[Rejection]:
    if late is None:
        return []
    rejections = [Rejection("NO_TIME", event_time(late).isNull(), F.lit(f"{late.column} is no time"))]
    if late.bound or late.future_bound:
        rejections.insert(0, Rejection("BAD_TIMESTAMP", ~is_readable(record_time()), timestamp_message()))
    if late.future_bound:
        ahead = event_time(late) > record_time() + interval(late.future_bound)
        rejections.append(
            Rejection("FUTURE", ahead, F.lit(f"{late.column} is more than {late.future_bound} ahead of its record"))
        )
    return rejections


def record_time() -> Column:
    return F.col(f"{RECORD}.timestamp")


def timestamp_message() -> Column:
    """Write the message for a record's own time. A time that Spark cannot hold comes as the furthest that it can."""
    milliseconds = F.unix_millis(record_time())
    or_further = F.when(F.abs(milliseconds) >= FURTHEST_MS, F.lit(" or further")).otherwise(F.lit(""))
    years = F.lit(", outside of the years 0001 to 9999")
    return F.concat(F.lit("the record's own timestamp is "), milliseconds, F.lit(" ms"), or_further, years)


def event_time(late: Late) -> Column:
    """Read the event's time. A text needs date and time, because Spark's cast takes 10:00 for a time of today."""
    column = F.col(late.column)
    text = moment(column.cast("string"), "timestamp")
    return F.when(F.typeof(column) == "string", text).otherwise(column.try_cast("timestamp"))


def interval(bound: str) -> Column:
    return F.expr(f"make_dt_interval(0, 0, 0, {seconds(bound)})")


@cache
def disposition(pipeline: Pipeline) -> Column:
    return (
        F.when((F.col(REASON) == "NULL_VALUE") & F.lit(pipeline.source.null_value == "skip"), F.lit(NULL))
        .when(F.col(REASON).isNotNull(), F.lit(QUARANTINED))
        .when(is_late(pipeline), F.lit(LATE))
        .otherwise(F.lit(MERGE))
    )


def is_late(pipeline: Pipeline) -> Column:
    """True for a late event. A tombstone is never late, because it may be there to delete an old row."""
    late = pipeline.late
    if late is None or late.bound is None:
        return F.lit(False)  # noqa: FBT003
    is_old = event_time(late) < record_time() - interval(late.bound)
    return is_old & ~F.col(DELETED) if pipeline.deletes else is_old
