"""Record values as the rows that a Kafka read gives."""

from datetime import UTC, datetime

from pyspark.sql import DataFrame, SparkSession

from common.settings.pipeline import Pipeline
from common.spark.classify import classify
from common.spark.decode.json import JsonDecoder
from common.spark.deduplicate import deduplicate
from common.spark.source import as_records
from tests.support.frames import frame

NOON = datetime(2023, 1, 10, 12, tzinfo=UTC)
KAFKA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"


def records(spark: SparkSession, *values: bytes | None, partition: int = 0) -> DataFrame:
    """One row for each value, its place as the offset, all produced at noon."""
    rows = [(b"k", value, "t", partition, offset, NOON) for offset, value in enumerate(values)]
    return frame(spark, rows, KAFKA)


def classified_json(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    return deduplicate(classify(as_records(rows), pipeline, JsonDecoder.of(pipeline.source)), pipeline)
