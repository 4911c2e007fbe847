"""Fetch a few records on the driver, with a consumer that stays open.

Spark reads a topic by a query, and each query makes an admin client and a consumer for each partition. For a hundred
records that takes longer than all the rest: docs/adr/0012-few-records-are-fetched.md.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ClientPartition

from common.model.limits import Limits
from common.model.offsets import Offsets, Plan, TopicPartition

log = structlog.get_logger()
# The furthest time from 1970 that Spark can hold: it counts microseconds in 64 bits.
FURTHEST_MS = (2**63 - 1) // 1000
SETTINGS: dict[str, str | int | bool] = {
    "group.id": "alluvium-few",
    "check.crcs": True,
    # A planned record exists, so no fetch has to wait. Between batches nothing is assigned, and nothing is fetched.
    "fetch.wait.max.ms": 10,
    # The consumer reads ahead, even past the end of the plan.
    "queued.min.messages": 10_000,
    "queued.max.messages.kbytes": Limits.fetched_bytes // 1024,
    "fetch.queue.backoff.ms": 10,
}


class Record(NamedTuple):
    """The parts of a record that a batch needs. Its headers, for example, are dropped at once."""

    key: bytes | None
    value: bytes | None
    topic: str
    partition: int
    offset: int
    milliseconds: int

    @property
    def size(self) -> int:
        """The bytes of key and value."""
        return len(self.key or b"") + len(self.value or b"")

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


def is_out_of_reach(milliseconds: int) -> bool:
    """True where Spark's Kafka source fails on a record of this time, and on the whole batch with it."""
    return abs(milliseconds) > FURTHEST_MS


def record_of(message: Any) -> Record:
    return Record(
        message.key(),
        message.value(),
        message.topic(),
        message.partition(),
        message.offset(),
        message.timestamp()[1],
    )


def to_assign(offsets: Offsets) -> list[ClientPartition]:
    """Name partitions and where to begin in them, as the client wants it."""
    return [ClientPartition(each.topic, each.partition, offset) for each, offset in offsets.items()]


class NotFetched(Exception):
    """The reason why Spark has to read these records."""


class Refused(NotFetched):
    """The broker does not allow the consumer's group, and will not allow it later."""


class Fetcher:
    """Fetches the records of a plan."""

    def __init__(self, new_consumer: Callable[[], Consumer]) -> None:
        self._new_consumer = new_consumer
        self._consumer: Consumer | None = None
        self._is_refused = False

    def fetch(self, planned: Plan, limits: Limits) -> list[Record] | None:
        """Fetch every record of these offsets; None where one is missing, they are too large, or something fails."""
        if self._is_refused:
            return None
        try:
            self._consumer = self._consumer or self._new_consumer()
            return self._assigned(self._consumer, planned, limits)
        except (KafkaException, NotFetched) as reason:
            log.info("Spark reads this batch, it could not be fetched", reason=str(reason))
            self._is_refused = isinstance(reason, Refused)
        if self._is_refused and self._consumer is not None:
            # An open consumer would ask for the group again, twice a second.
            self._consumer.close()
        return None

    def _assigned(self, consumer: Consumer, planned: Plan, limits: Limits) -> list[Record]:
        consumer.assign(to_assign({each: first for each, first in planned.start.items() if first < planned.end[each]}))
        try:
            return list(records(consumer, planned, limits))
        finally:
            consumer.unassign()


def records(consumer: Consumer, planned: Plan, limits: Limits) -> Iterator[Record]:
    """Yield the planned records, those of one partition in their order."""
    until, size = time.monotonic() + limits.fetch_seconds, 0
    following, missing = dict(planned.start), planned.records
    while missing:
        message = next_message(consumer, until, limits)
        where, offset = TopicPartition(message.topic(), message.partition()), message.offset()
        if following[where] == planned.end[where]:
            continue
        if message.error() is not None or offset != following[where]:
            # Transactions and compaction leave such gaps. A gap counts only where two clients agree on it: Spark's
            # consumer and TopicClient's. The latter is the same client as this one, so Spark has to read the batch.
            raise NotFetched(f"{where} has no offset {following[where]}")
        record = record_of(message)
        size += record.size
        if size > limits.fetched_bytes:
            raise NotFetched(f"more than {limits.fetched_bytes} bytes")
        following[where], missing = offset + 1, missing - 1
        yield record


def next_message(consumer: Consumer, until: float, limits: Limits) -> Any:
    """Poll the next record, or the end of a partition.

    Records past the end of the plan may keep coming, so the time limit holds for them too.
    """
    left = until - time.monotonic()
    message = consumer.poll(max(left, 0))
    if message is None or left < 0:
        raise NotFetched(f"not all of it came within {limits.fetch_seconds:g} s")
    error = message.error()
    if error is not None and error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
        raise Refused(error.str())
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise NotFetched(error.str())
    return message
