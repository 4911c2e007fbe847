"""A few records as rows, in the form that Spark's own source of Kafka gives them."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from common.plan.broker import Topic
from common.plan.offsets import Plan

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
    messages = topic.fetcher.fetch(planned)
    if messages is None:
        return None
    rows = [
        (each.key(), each.value(), each.topic(), each.partition(), each.offset(), each.timestamp()[1])
        for each in messages
    ]
    columns = zip(*rows, strict=True) if rows else [[]] * len(SCHEMA)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=SCHEMA))
