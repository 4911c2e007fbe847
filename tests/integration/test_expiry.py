"""Row 23: compaction forgets deletes and retention forgets records; whoever nears that is told while there is time."""

import time

import pytest
from confluent_kafka import Producer
from structlog.testing import capture_logs
from structlog.typing import EventDict

from common.kafka.retention_watch import ExpiryWatch
from common.kafka.topic import TopicClient
from common.model.offsets import Plan
from tests.support.broker import Broker
from tests.support.partitions import of_topic
from tests.support.trial import Trial, event

HOUR = 3_600_000


def topic_of_ages(broker: Broker, config: dict[str, str], ages: dict[int, list[int]]) -> str:
    """Per partition, records that were written so many milliseconds ago."""
    name = broker.create_topic(config=config)
    now = int(time.time() * 1000)
    producer = Producer({"bootstrap.servers": broker.address, "enable.idempotence": True})
    for partition, each in ages.items():
        for age in each:
            producer.produce(name, key=b"k", value=None, partition=partition, timestamp=now - age)
    assert producer.flush(30) == 0
    return name


def warnings(broker: Broker, name: str, start: dict[int, int]) -> list[EventDict]:
    topic = TopicClient(broker.address, name)
    with capture_logs() as logs:
        ExpiryWatch(topic).look(Plan(of_topic(name, start), topic.available().ends))
    return logs


COMPACTED = {"cleanup.policy": "compact", "delete.retention.ms": str(24 * HOUR)}
# Records from which nothing is removed before the test has looked: retention is checked every five minutes.
DELETED = {"cleanup.policy": "delete", "retention.ms": str(7 * 24 * HOUR)}


@pytest.mark.parametrize(
    ("config", "ages", "start", "partitions", "older_than", "removed_after", "setting"),
    [
        (COMPACTED, {0: [13 * HOUR, 1], 1: [11 * HOUR]}, {0: 0, 1: 0, 2: 0}, [0], "12h", "1d", "delete.retention.ms"),
        (COMPACTED, {0: [25 * HOUR], 2: [26 * HOUR]}, {0: 0, 1: 0, 2: 0}, [0, 2], "1d", "1d", "delete.retention.ms"),
        (DELETED, {1: [85 * HOUR]}, {0: 0, 1: 0, 2: 0}, [1], "84h", "7d", "retention.ms"),
        (COMPACTED | {"delete.retention.ms": "1"}, {0: [10]}, {0: 0}, [0], "1ms", "1ms", "delete.retention.ms"),
    ],
)
def test_23_unread_records_that_near_their_end_are_named(
    *,
    broker: Broker,
    config: dict[str, str],
    ages: dict[int, list[int]],
    start: dict[int, int],
    partitions: list[int],
    older_than: str,
    removed_after: str,
    setting: str,
) -> None:
    name = topic_of_ages(broker, config, ages)
    (warning,) = warnings(broker, name, start)
    assert warning["log_level"] == "warning"
    assert {key: warning[key] for key in ("topic", "partitions", "older_than", "removed_after")} == {
        "topic": name,
        "partitions": partitions,
        "older_than": older_than,
        "removed_after": removed_after,
    }
    assert f"raise the topic's {setting}" in warning["remedy"]


@pytest.mark.parametrize(
    ("config", "start"),
    [
        # Settled already, or young enough.
        (COMPACTED, {0: 1}),
        (COMPACTED, {0: 2}),
        # Without an end, and a bound that this policy does not have.
        (DELETED | {"retention.ms": "-1"}, {0: 0}),
        (DELETED | {"delete.retention.ms": "1"}, {0: 0}),
    ],
)
def test_23_nothing_is_said_without_need(broker: Broker, config: dict[str, str], start: dict[int, int]) -> None:
    name = topic_of_ages(broker, config, {0: [20 * HOUR, 0]})
    assert warnings(broker, name, start) == []


def test_23_both_policies_are_two_bounds_and_said_once(broker: Broker) -> None:
    name = topic_of_ages(broker, {**DELETED, **COMPACTED, "cleanup.policy": "compact,delete"}, {0: [100 * HOUR]})
    topic = TopicClient(broker.address, name)
    watch = ExpiryWatch(topic)
    with capture_logs() as logs:
        for _ in range(3):
            watch.look(Plan(of_topic(name, {0: 0}), of_topic(name, {0: 1})))
    assert [each["removed_after"] for each in logs] == ["1d", "7d"]


def test_23_a_run_says_so(trial: Trial) -> None:
    trial.topic = trial.broker.create_topic(config=COMPACTED | {"delete.retention.ms": "1"})
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=1)
    with capture_logs() as logs:
        trial.run("batch")
    (warning,) = [each for each in logs if each["log_level"] == "warning"]
    assert warning["event"].startswith("deletes may be gone before they are read")
    assert warning["partitions"] == [1]
    assert (3, "b", 3.0) in trial.rows()
