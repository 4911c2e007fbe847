"""Offsets that no row has, in several partitions at once: found by one question, confirmed by one consumer."""

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer
from pyspark.sql import SparkSession

from common.kafka.topic import TopicClient
from common.model.offsets import TopicPartition
from common.model.record import RECORD
from common.rules import gaps as rule
from common.spark import gaps as query
from tests.support.broker import Broker
from tests.support.frames import frame
from tests.support.partitions import numbered
from tests.support.trial import Trial, event

# By topic and partition: the planned range, the offsets that were read, and the gaps.
PARTITIONS: dict[TopicPartition, tuple[tuple[int, int], list[int], list[tuple[int, int]]]] = {
    TopicPartition("a", 0): ((0, 6), [0, 1, 4], [(2, 4), (5, 6)]),
    TopicPartition("a", 1): ((10, 13), [], [(10, 13)]),
    TopicPartition("b", 0): ((5, 8), [6, 7], [(5, 6)]),
    TopicPartition("b", 3): ((0, 2), [0, 1], []),
}


@pytest.mark.parametrize("arrow", [True, False])
def test_the_gaps_of_all_partitions_are_found_at_once(spark: SparkSession, *, arrow: bool) -> None:
    places = [
        {RECORD: {**where._asdict(), "offset": offset}}
        for where, (_, read, _) in PARTITIONS.items()
        for offset in reversed(read)
    ]
    ranges = {where: ends for where, (ends, _, _) in PARTITIONS.items()}
    if arrow:
        found = rule.find_gaps(pa.Table.from_pylist(places), ranges)
    else:
        rows = [(tuple(each[RECORD].values()),) for each in places]
        found = query.find_gaps(
            frame(spark, rows, f"{RECORD} struct<topic: string, partition: int, offset: bigint>"), ranges
        )
    assert found == {where: gaps for where, (_, _, gaps) in PARTITIONS.items()}


@contextmanager
def counted_consumers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The groups of the consumers that a topic makes."""
    groups: list[str] = []

    def new(self: TopicClient, settings: dict[str, str]) -> Consumer:
        groups.append(settings["group.id"])
        return made(self, settings)

    made = TopicClient._consumer
    monkeypatch.setattr(TopicClient, "_consumer", new)
    yield groups


def produce_in_all_partitions(broker: Broker, topic: str, partitions: int) -> None:
    """Three transactions, each with a record in every partition and then a marker there; the second is aborted."""
    producer = Producer({"bootstrap.servers": broker.address, "transactional.id": topic})
    producer.init_transactions(30)
    for number, finish in enumerate(
        (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    ):
        producer.begin_transaction()
        for partition in range(partitions):
            key, value = event(10 * number + partition, "b", 0.0)
            producer.produce(topic, key=key, value=value, partition=partition)
        producer.flush(30)
        finish(30)


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_21_22_gaps_of_several_partitions_are_confirmed_by_one_consumer(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    produce_in_all_partitions(trial.broker, trial.topic, 3)
    with counted_consumers(monkeypatch) as groups:
        assert numbered(trial.run(mode).offsets) == {0: 6, 1: 6, 2: 6}
    assert groups.count("alluvium-gaps") == 1
    assert {number for number, _, _ in trial.rows()} == {1, 2, 0, 20, 21, 22}


@pytest.mark.parametrize(
    ("gaps", "unread"),
    [
        ({0: [(1, 4), (5, 6)], 1: [(1, 4)], 2: [(3, 4), (5, 6)]}, None),
        ({0: [(1, 4)], 1: [], 2: [(1, 4), (4, 6)]}, (2, 4)),
        ({0: [(0, 6)], 1: [(1, 4)]}, (0, 0)),
    ],
)
def test_a_record_that_was_not_read_is_found_in_whichever_partition_it_is(
    broker: Broker, topic: str, gaps: dict[int, list[tuple[int, int]]], unread: tuple[int, int] | None
) -> None:
    produce_in_all_partitions(broker, topic, 3)
    found = TopicClient(broker.address, topic).first_record_in(
        {TopicPartition(topic, partition): ranges for partition, ranges in gaps.items()}
    )
    assert (None if found is None else (found[0].partition, found[1])) == unread
