"""Ask the broker about a topic: its identity, its partitions, its offsets. Every request has a time-out."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any, NoReturn

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from common.errors import BrokerUnreachable, ConfigurationError, NotAllowed, StateError, TopicMissing
from common.kafka.consumer import SETTINGS as FETCHING
from common.kafka.consumer import Fetcher, Record, is_out_of_reach, record_of
from common.kafka.refusal import misconfigured, reason
from common.model.offsets import Available, Offsets, Plan
from common.settings.kafka_security import OPEN, Access
from common.settings.remedies import services, start_service

TIMEOUT_SECONDS = 10.0
# The client skips a long aborted transaction before it returns anything.
SCAN_SECONDS = 60.0
HEAR_SECONDS = 0.1
UNREACHABLE = {
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._TRANSPORT,
    KafkaError._TIMED_OUT,
    KafkaError._RESOLVE,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.BROKER_NOT_AVAILABLE,
}
# A partition is moving to another leader, or a new topic has none yet. The client learns of it, and is asked again.
MOVING = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
}
NOT_ALLOWED = {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}

# Ranges of missing offsets as (first, after), in their order, by partition.
Gaps = Mapping[int, Sequence[tuple[int, int]]]


class LeaderMoving(BrokerUnreachable):
    """No broker leads the partition just now."""


class TopicClient:
    """One topic on one cluster."""

    def __init__(
        self, brokers: str, name: str, *, access: Access = OPEN, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self.brokers = brokers
        self.name = name
        self.access = access
        self._timeout = timeout_seconds
        # The client's own errors, because a request itself ends only with its time-out, whatever the reason.
        self._heard: deque[KafkaError] = deque(maxlen=20)
        self._admin = self._client()

    def describe(self) -> tuple[str, list[int]]:
        """Return the topic's id, which a recreated topic does not share, and its partitions."""
        wanted = TopicCollection([self.name])
        described = self._ask(lambda: self._admin.describe_topics(wanted, request_timeout=self._timeout))[self.name]
        return str(described.topic_id), sorted(partition.id for partition in described.partitions)

    def available(self) -> Available:
        """Return the first and the end offsets that a reader of committed records may read now."""
        _, partitions = self.describe()
        return Available(
            self._offsets(partitions, OffsetSpec.earliest()), self._offsets(partitions, OffsetSpec.latest())
        )

    def at_time(self, milliseconds: int) -> dict[int, int]:
        """Return for each partition the first offset at or after a time, or its end where no record is that young."""
        _, partitions = self.describe()
        offsets = self._offsets(partitions, OffsetSpec.for_timestamp(milliseconds))
        ends = self.available().ends
        return {partition: ends[partition] if offset < 0 else offset for partition, offset in offsets.items()}

    def settings(self) -> dict[str, str]:
        """Return the topic's settings, defaults included; none where we may not ask."""
        resource = ConfigResource(ResourceType.TOPIC, self.name)
        try:
            configs = self._ask(lambda: self._admin.describe_configs([resource], request_timeout=self._timeout))
        except NotAllowed:
            return {}
        return {name: str(entry.value) for name, entry in configs[resource].items()}

    def older_than(self, milliseconds: int, start: Offsets) -> list[int]:
        """Return the partitions whose record at `start` was written before a time. No record is read for it."""
        offsets = self._offsets(sorted(start), OffsetSpec.for_timestamp(milliseconds))
        return [partition for partition, young in sorted(offsets.items()) if young < 0 or start[partition] < young]

    def first_record_in(self, gaps: Gaps) -> tuple[int, int] | None:
        """Return partition and offset of a committed record inside of ranges that should hold none; None without one.

        Transaction markers and compaction leave such gaps. Only a consumer can tell them from records that a reader
        has missed. It reads each partition once, from the beginning of its first gap to the end of its last. One
        consumer does all of it, because connecting takes longer than reading.
        """
        # A planned record exists: at the end of a log nothing has to be waited for.
        consumer = self._consumer({"group.id": "alluvium-gaps", "fetch.wait.max.ms": 10})
        remaining = {partition: list(reversed(ranges)) for partition, ranges in gaps.items() if ranges}
        try:
            consumer.assign([TopicPartition(self.name, each, ranges[-1][0]) for each, ranges in remaining.items()])
            while remaining:
                partition, offset = self._next_offset(consumer, remaining)
                ranges = remaining.get(partition, [])
                while ranges and ranges[-1][1] <= offset:
                    ranges.pop()
                if ranges and ranges[-1][0] <= offset:
                    return partition, offset
                if not ranges and remaining.pop(partition, None) is not None:
                    consumer.incremental_unassign([TopicPartition(self.name, partition)])
        finally:
            consumer.close()
        return None

    def records_out_of_reach(self, planned: Plan) -> Iterator[Record]:
        """Yield the planned records whose time Spark cannot hold. It reads the whole plan, and keeps no other."""
        consumer = self._consumer({"group.id": "alluvium-gaps"})
        open_ends = {partition: end for partition, end in planned.end.items() if planned.start[partition] < end}
        try:
            consumer.assign([TopicPartition(self.name, each, planned.start[each]) for each in open_ends])
            while open_ends:
                message = self._next_message(consumer, "the topic")
                partition, offset = message.partition(), message.offset()
                end = open_ends.get(partition, 0)
                if message.error() is None and offset < end and is_out_of_reach(message.timestamp()[1]):
                    yield record_of(message)
                if offset >= end - (message.error() is None):
                    open_ends.pop(partition, None)
        finally:
            consumer.close()

    @cached_property
    def fetcher(self) -> Fetcher:
        """The fetcher, kept as long as this topic is used: connecting takes longer than fetching a few records."""
        return Fetcher(self.name, lambda: self._consumer(FETCHING))

    def _next_offset(self, consumer: Consumer, wanted: Iterable[int]) -> tuple[int, int]:
        """Return partition and offset of the next committed record, or of a partition's end."""
        message = self._next_message(consumer, f"partition {min(wanted)}")
        return int(message.partition()), int(message.offset())

    def _next_message(self, consumer: Consumer, where: str) -> Any:
        """Poll the next committed record, or the end of a partition."""
        message = consumer.poll(SCAN_SECONDS)
        if message is None:
            raise self._unreachable(f"{where} gives nothing")
        if message.error() is not None and message.error().code() != KafkaError._PARTITION_EOF:
            self._translate(KafkaException(message.error()))
        return message

    def _client(self) -> AdminClient:
        try:
            return AdminClient(
                {
                    "bootstrap.servers": self.brokers,
                    "socket.timeout.ms": int(self._timeout * 1000),
                    "log_level": 0,
                    "error_cb": self._heard.append,
                    **self.access.librdkafka,
                },
                logger=None,
            )
        except KafkaException as error:
            raise ConfigurationError(
                f"the settings for {self.brokers} do not work ({error.args[0].str()})",
                "correct [source.kafka] in the pipeline's file",
            ) from error

    def _consumer(self, settings: Mapping[str, str | int | bool]) -> Consumer:
        """Build a consumer of committed records. It is assigned what to read, joins no group, and keeps no position."""
        return Consumer(
            {
                **self.access.librdkafka,
                "bootstrap.servers": self.brokers,
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "log_level": 0,
                **settings,
            }
        )

    def _offsets(self, partitions: list[int], which: OffsetSpec) -> dict[int, int]:
        wanted = {TopicPartition(self.name, partition): which for partition in partitions}
        answers = self._ask(
            lambda: self._admin.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._timeout
            )
        )
        return {each.partition: answer.offset for each, answer in answers.items()}

    def _ask(self, request: "Callable[[], Mapping[Any, Future[Any]]]") -> dict[Any, Any]:
        until = time.monotonic() + self._timeout
        while True:
            try:
                return {about: self._answer(future) for about, future in request().items()}
            except LeaderMoving:
                if time.monotonic() > until:
                    raise
                time.sleep(HEAR_SECONDS)

    def _answer(self, future: "Future[Any]") -> Any:
        until = time.monotonic() + self._timeout + 1
        looked = False
        while time.monotonic() < until:
            try:
                return future.result(timeout=HEAR_SECONDS)
            except KafkaException as error:
                self._translate(error)
            except TimeoutError:
                self._admin.poll(0)
            if not looked and any(error.code() == KafkaError._ALL_BROKERS_DOWN for error in self._heard):
                looked = True
                self._refuse_misconfigured()
        raise self._unreachable("no answer")

    def _refuse_misconfigured(self) -> None:
        error = misconfigured(self.brokers, self.access, self._heard)
        self._heard.clear()
        if error is not None:
            raise error

    def _translate(self, error: KafkaException) -> NoReturn:
        cause: KafkaError = error.args[0]
        if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopicMissing(
                f"no topic '{self.name}' on {self.brokers}",
                f"create it: {services('create-topic', self.name)}, or correct the name",
            ) from error
        if cause.code() in NOT_ALLOWED:
            raise NotAllowed(
                f"the broker {self.brokers} allows us nothing on topic '{self.name}'",
                "have the user of [source.kafka] granted Describe and Read on it",
            ) from error
        if cause.code() in MOVING:
            raise LeaderMoving(f"no leader answers for '{self.name}' on {self.brokers}", "try again later") from error
        if cause.code() in UNREACHABLE:
            self._refuse_misconfigured()
            raise self._unreachable(reason(cause)) from error
        raise StateError(
            f"the broker {self.brokers} refuses to describe '{self.name}': {cause.str()}", "see its log"
        ) from error

    def _unreachable(self, reason: str) -> BrokerUnreachable:
        return BrokerUnreachable(
            f"no Kafka broker answers at {self.brokers} ({reason})",
            f"{start_broker(self.brokers)}correct the address",
        )


def start_broker(brokers: str) -> str:
    """Say how to start the first of these brokers that can be an embedded one."""
    for address in brokers.split(","):
        host, _, port = address.rpartition(":")
        if (start := start_service("kafka", host, int(port))) is not None:
            return f"start it with {start}, or "
    return "start it, or "
