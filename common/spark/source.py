"""Read exactly the planned ranges from Kafka. Key, value, topic, partition, offset and timestamp stay to the end."""

import json
from functools import cache

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from common.kafka.topic import TopicClient
from common.model.offsets import Offsets, Plan, by_topic, to_json
from common.model.record import RECORD, RECORD_FIELDS

# The bound of every wait for a broker. Spark asks twice where to read: without a broker a batch ends after two waits.
WAIT_SECONDS = 30.0


def kafka_options(topic: TopicClient) -> dict[str, str]:
    """Return the options of every read: committed records only, loss is an error, waits are bounded."""
    return {
        **topic.access.spark,
        "kafka.bootstrap.servers": topic.brokers,
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "fetchOffset.numRetries": "2",
        # How long a fetch waits for a record after the last one. Spark asks for the log's ends on the same connection,
        # so each partition would wait for Kafka's default, half a second. A planned record exists: no wait is needed.
        "kafka.fetch.max.wait.ms": "10",
        "kafkaConsumer.pollTimeoutMs": milliseconds(WAIT_SECONDS),
        "kafka.default.api.timeout.ms": milliseconds(WAIT_SECONDS),
        # Less than the setting before it, as Kafka's admin client demands.
        "kafka.request.timeout.ms": milliseconds(WAIT_SECONDS * 0.8),
    }


def milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))


def as_records(rows: DataFrame) -> DataFrame:
    """Put the whole record in one struct. It goes with the event to the end, and into quarantine if need be."""
    return rows.select(F.struct(*RECORD_FIELDS).alias(RECORD))


@cache
def place() -> Column:
    """Return topic, partition and offset of a record, without its key, its value and its time."""
    return F.struct(*(f"{RECORD}.{name}" for name in ("topic", "partition", "offset"))).alias(RECORD)


def read_range(spark: SparkSession, topic: TopicClient, planned: Plan) -> DataFrame:
    """Read a plan as a batch. Both ends are numbers, because every action would resolve `latest` again."""
    return (
        spark.read.format("kafka")
        .options(**kafka_options(topic))
        .option("assign", json.dumps({name: list(offsets) for name, offsets in by_topic(planned.end).items()}))
        .option("startingOffsets", to_json(planned.start))
        .option("endingOffsets", to_json(planned.end))
        .load()
    )


def read_stream(spark: SparkSession, topic: TopicClient, start: Offsets, max_records: int) -> DataFrame:
    """Read the topics as a stream. They are subscribed and not assigned, so that new partitions join by themselves."""
    return (
        spark.readStream.format("kafka")
        .options(**kafka_options(topic))
        .option("subscribe", ",".join(topic.names))
        .option("startingOffsets", to_json(start))
        .option("maxOffsetsPerTrigger", max_records)
        .load()
    )
