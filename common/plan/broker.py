"""What the broker says of a topic: its identity, its partitions, its offsets. Every question has a time-out."""

from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any, NoReturn

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from common.errors import BrokerUnreachable, StateError, TopicMissing
from common.plan.offsets import Available

TIMEOUT_SECONDS = 10.0
# A long aborted transaction is skipped inside of the client before anything comes out.
SCAN_SECONDS = 60.0
UNREACHABLE = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.BROKER_NOT_AVAILABLE,
}


class Topic:
    """One topic on one cluster."""

    def __init__(self, brokers: str, name: str, *, timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.brokers = brokers
        self.name = name
        self._timeout = timeout_seconds
        self._admin = AdminClient(
            {"bootstrap.servers": brokers, "socket.timeout.ms": int(timeout_seconds * 1000), "log_level": 0},
            logger=None,
        )

    def describe(self) -> tuple[str, list[int]]:
        """The topic's id, which a recreated topic does not share, and its partitions."""
        asked = self._admin.describe_topics(TopicCollection([self.name]), request_timeout=self._timeout)
        described = self._answer(asked[self.name])
        return str(described.topic_id), sorted(partition.id for partition in described.partitions)

    def available(self) -> Available:
        """What a reader of committed records may read now."""
        _, partitions = self.describe()
        return Available(
            self._offsets(partitions, OffsetSpec.earliest()), self._offsets(partitions, OffsetSpec.latest())
        )

    def at_time(self, milliseconds: int) -> dict[int, int]:
        """Per partition the first offset at or after a time; its end where nothing is that young."""
        _, partitions = self.describe()
        found = self._offsets(partitions, OffsetSpec.for_timestamp(milliseconds))
        ends = self.available().ends
        return {partition: ends[partition] if offset < 0 else offset for partition, offset in found.items()}

    def first_record_in(self, partition: int, gaps: Sequence[tuple[int, int]]) -> int | None:
        """The first committed record inside of ranges (first, after) that should hold none; None if they are empty.

        Transaction markers and compaction leave such gaps, and only a consumer tells them from records that a reader
        has missed. One pass, from the first gap's beginning to the last one's end.
        """
        consumer = Consumer(self._consumer_settings())
        try:
            consumer.assign([TopicPartition(self.name, partition, gaps[0][0])])
            remaining = list(reversed(gaps))
            while remaining:
                offset = self._next_offset(consumer, partition)
                while remaining and remaining[-1][1] <= offset:
                    remaining.pop()
                if remaining and remaining[-1][0] <= offset:
                    return offset
        finally:
            consumer.close()
        return None

    def _next_offset(self, consumer: Consumer, partition: int) -> int:
        """Of the next committed record, or of the log's end."""
        message = consumer.poll(SCAN_SECONDS)
        if message is None:
            raise self._unreachable(f"partition {partition} gives nothing")
        if message.error() is not None and message.error().code() != KafkaError._PARTITION_EOF:
            self._translate(KafkaException(message.error()))
        return int(message.offset())

    def _consumer_settings(self) -> dict[str, str | int | bool]:
        return {
            "bootstrap.servers": self.brokers,
            "group.id": "alluvium-gaps",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "auto.offset.reset": "error",
            "log_level": 0,
        }

    def _offsets(self, partitions: list[int], which: OffsetSpec) -> dict[int, int]:
        asked = self._admin.list_offsets(
            {TopicPartition(self.name, partition): which for partition in partitions},
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self._timeout,
        )
        return {each.partition: self._answer(future).offset for each, future in asked.items()}

    def _answer(self, future: "Future[Any]") -> Any:
        try:
            return future.result(timeout=self._timeout + 1)
        except KafkaException as error:
            self._translate(error)
        except TimeoutError as error:
            raise self._unreachable("no answer") from error

    def _translate(self, error: KafkaException) -> NoReturn:
        cause: KafkaError = error.args[0]
        if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopicMissing(
                f"no topic '{self.name}' on {self.brokers}",
                f"create it: kafka_docker/services create-topic {self.name}, or correct the name",
            ) from error
        if cause.code() in UNREACHABLE:
            raise self._unreachable(cause.str()) from error
        raise StateError(
            f"the broker {self.brokers} refuses to describe '{self.name}': {cause.str()}", "see its log"
        ) from error

    def _unreachable(self, reason: str) -> BrokerUnreachable:
        return BrokerUnreachable(
            f"no Kafka broker answers at {self.brokers} ({reason})",
            "start it (kafka_docker/services start kafka) or correct the address",
        )
