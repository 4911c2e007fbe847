"""The last heartbeat of a connector, read from its topic."""

import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from common.settings.brokers import bootstrap
from common.settings.connector import Connector
from common.settings.kafka_security import access

PREFIX = "topic.heartbeat.prefix"
DEFAULT_PREFIX = "__debezium-heartbeat"
TIMEOUT_SECONDS = 5.0
# The end of a topic has markers of transactions besides records.
LAST_OFFSETS = 20


def heartbeat_topic(connector: Connector) -> str:
    prefix = connector.settings.get(PREFIX, DEFAULT_PREFIX)
    return f"{prefix}.{connector.capture.topic_prefix}"


def heartbeat_age(connector: Connector) -> float | None:
    """Return the seconds since the last heartbeat; None where there has been none, or the brokers do not answer."""
    consumer = Consumer(
        {
            **access(connector.kafka.access).librdkafka,
            "bootstrap.servers": bootstrap(connector.kafka.brokers),
            # Never used: nothing is committed, and partitions are assigned.
            "group.id": "alluvium-connector",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        return _age(consumer, TopicPartition(heartbeat_topic(connector), 0))
    except KafkaException:
        return None
    finally:
        consumer.close()


def _age(consumer: Consumer, place: TopicPartition) -> float | None:
    first, end = consumer.get_watermark_offsets(place, timeout=TIMEOUT_SECONDS)
    place.offset = max(first, end - LAST_OFFSETS)
    consumer.assign([place])
    last = None
    while (message := consumer.poll(TIMEOUT_SECONDS)) is not None and message.error() is None:
        last = message.timestamp()[1] / 1000
    return None if last is None else max(0.0, time.time() - last)


def bound_seconds(connector: Connector, intervals: int = 6) -> float:
    """Return the age beyond which a heartbeat is missing: several intervals, and at least half a minute."""
    return max(30.0, int(connector.settings.get("heartbeat.interval.ms", 0)) / 1000 * intervals)
