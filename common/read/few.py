"""A few records as rows, in the form that Spark's own source of Kafka gives them."""

from collections.abc import Sequence

import pyarrow as pa
import structlog
from pyspark.sql import DataFrame, SparkSession

from common.errors import first_line
from common.plan.broker import Topic
from common.plan.fetch import Record
from common.plan.offsets import Plan

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


def fetched_rows(spark: SparkSession, topic: Topic, planned: Plan) -> DataFrame | None:
    """The planned records, as long as the driver has room for them; None where Spark has to read them."""
    records = topic.fetcher.fetch(planned)
    if records is None:
        return None
    try:
        return as_rows(spark, records)
    except pa.ArrowException as error:
        log.info("Spark reads this batch, a record of it is out of bounds", reason=first_line(error))
        return None


def as_rows(spark: SparkSession, records: Sequence[Record]) -> DataFrame:
    # By rows, not by `zip(*records)`: that has no column at all where there is no record.
    columns = [[record[number] for record in records] for number in range(len(SCHEMA))]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=SCHEMA))
