"""Kafka rows of exactly the planned ranges; key, value, topic, partition, offset and timestamp stay until the end."""

import json
from functools import cache

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from common.kafka.topic import TopicClient
from common.model.offsets import Offsets, Plan, to_json
from common.model.record import RECORD, RECORD_FIELDS

# Every wait on a broker. Where to read is asked twice, so a broker that is gone ends a batch after two of them.
WAIT_SECONDS = 30.0


def kafka_options(topic: TopicClient) -> dict[str, str]:
    """What every read has in common: committed records only, loss is an error, waits are bounded."""
    return {
        **topic.access.spark,
        "kafka.bootstrap.servers": topic.brokers,
        "kafka.isolation.level": "read_committed",
        "failOnDataLoss": "true",
        "fetchOffset.numRetries": "2",
        # Spark asks for the log's ends on a connection on which its consumer waits, for that long, for the record after
        # the last: half a second a partition, by Kafka's default. What is planned is there, nobody has to wait for it.
        "kafka.fetch.max.wait.ms": "10",
        "kafkaConsumer.pollTimeoutMs": milliseconds(WAIT_SECONDS),
        "kafka.default.api.timeout.ms": milliseconds(WAIT_SECONDS),
        # Below the one before it, as Kafka's admin client demands.
        "kafka.request.timeout.ms": milliseconds(WAIT_SECONDS * 0.8),
    }


def milliseconds(seconds: float) -> str:
    return str(int(seconds * 1000))


def as_records(rows: DataFrame) -> DataFrame:
    """The whole record in one struct: it goes with the event to the end, and into quarantine if need be."""
    return rows.select(F.struct(*RECORD_FIELDS).alias(RECORD))


@cache
def place() -> Column:
    """All of a record but its key, its value and its time."""
    return F.struct(*(f"{RECORD}.{name}" for name in ("topic", "partition", "offset"))).alias(RECORD)


def read_range(spark: SparkSession, topic: TopicClient, planned: Plan) -> DataFrame:
    """Both ends are numbers: `latest` would be resolved again by every action."""
    return (
        spark.read.format("kafka")
        .options(**kafka_options(topic))
        .option("assign", json.dumps({topic.name: sorted(planned.end)}))
        .option("startingOffsets", to_json(topic.name, planned.start))
        .option("endingOffsets", to_json(topic.name, planned.end))
        .load()
    )


def read_stream(spark: SparkSession, topic: TopicClient, start: Offsets, max_records: int) -> DataFrame:
    """Subscribed, not assigned: partitions that are added later join by themselves."""
    return (
        spark.readStream.format("kafka")
        .options(**kafka_options(topic))
        .option("subscribe", topic.name)
        .option("startingOffsets", to_json(topic.name, start))
        .option("maxOffsetsPerTrigger", max_records)
        .load()
    )
