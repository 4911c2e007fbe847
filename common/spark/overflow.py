"""Read a batch with records whose time Spark cannot hold: one of them fails Spark's Kafka source, and so the batch.

The driver reads these records, and Spark reads all others.
"""

from functools import reduce

from pyspark.sql import DataFrame, SparkSession

from common.errors import StateError
from common.kafka.consumer import Record
from common.kafka.topic import TopicClient
from common.model.limits import Limits
from common.model.offsets import Plan, plans_around
from common.model.record import RECORD_FIELDS
from common.spark.fetched import rows_of
from common.spark.source import read_range

OVERFLOW = "long overflow"


def is_overflow(error: Exception) -> bool:
    """True where a read failed on such a record. The message is Java's own, because Spark has none for it."""
    return OVERFLOW in str(error)


def read_around(spark: SparkSession, topic: TopicClient, planned: Plan, limits: Limits) -> DataFrame | None:
    """Read all rows of the plan; None where every record of it has a time that Spark can hold."""
    unreadable = unreadable_records(topic, planned, limits)
    if not unreadable:
        return None
    plans = plans_around(planned, ((record.where, record.offset) for record in unreadable))
    if len(plans) > limits.overflow_ranges:
        raise refusal(unreadable[0], f"it and {len(unreadable) - 1} like it stand between others", limits)
    parts = [rows_of(spark, unreadable), *(read_range(spark, topic, each) for each in plans)]
    return reduce(DataFrame.union, [part.select(*RECORD_FIELDS) for part in parts])


def unreadable_records(topic: TopicClient, planned: Plan, limits: Limits) -> list[Record]:
    """Read the records of the plan whose time Spark cannot hold."""
    records, size = [], 0
    for record in topic.records_out_of_reach(planned):
        records.append(record)
        size += record.size
        if size > limits.overflow_bytes:
            raise refusal(records[0], f"it and others like it have more than {limits.overflow_bytes} bytes", limits)
    return records


def refusal(record: Record, reason: str, limits: Limits) -> StateError:
    return StateError(
        f"{record.where}, offset {record.offset}: Spark cannot hold the record's timestamp "
        f"{record.milliseconds} ms, and {reason}",
        f"set source.max_records_per_batch to {limits.overflow_ranges // 2} in the pipeline's file until they are "
        "settled",
    )
