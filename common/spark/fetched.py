"""Turn a few fetched records into rows, in the form of Spark's own Kafka source."""

from collections.abc import Sequence

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession

from common.errors import first_line
from common.kafka.consumer import FURTHEST_MS, Record, is_out_of_reach
from common.kafka.topic import TopicClient
from common.model.limits import Limits
from common.model.offsets import Plan

log = structlog.get_logger()
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("ms", tz="UTC")),
    ]
)


def fetched_dataframe(spark: SparkSession, topic: TopicClient, planned: Plan, limits: Limits) -> DataFrame | None:
    """Fetch the planned records on the driver; None where they are too large for it and Spark has to read them."""
    records = topic.fetcher.fetch(planned, limits)
    if records is None:
        return None
    try:
        return rows_of(spark, records)
    except pa.ArrowException as error:
        log.info("Spark reads this batch, a record of it is out of bounds", reason=first_line(error))
        return None


def rows_of(spark: SparkSession, records: Sequence[Record]) -> DataFrame:
    # Not by `zip(*records)`, which gives no column at all where there is no record.
    within_reach = [in_reach(record) for record in records]
    columns = [[record[number] for record in within_reach] for number in range(len(SCHEMA))]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=SCHEMA))


def in_reach(record: Record) -> Record:
    """Return the record with the nearest time that Spark can hold."""
    if not is_out_of_reach(record.milliseconds):
        return record
    log.warning(
        "the timestamp of a record is further away than Spark can tell",
        partition=record.partition,
        offset=record.offset,
        milliseconds=record.milliseconds,
    )
    return record._replace(milliseconds=FURTHEST_MS if record.milliseconds > 0 else -FURTHEST_MS)
