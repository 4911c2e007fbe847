"""What the broker says of a topic: its identity, its partitions, its offsets. Every question has a time-out."""

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
# A long aborted transaction is skipped inside of the client before anything comes out.
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
# A partition is on its way to another leader, or a new topic to its first: the client learns of it and is asked again.
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
        # The client's own errors: a request itself ends only with its time-out, whatever the reason.
        self._heard: deque[KafkaError] = deque(maxlen=20)
        self._admin = self._client()

    def describe(self) -> tuple[str, list[int]]:
        """The topic's id, which a recreated topic does not share, and its partitions."""
        wanted = TopicCollection([self.name])
        described = self._ask(lambda: self._admin.describe_topics(wanted, request_timeout=self._timeout))[self.name]
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

    def settings(self) -> dict[str, str]:
        """The topic's own settings and the defaults that it has; none where we may not ask."""
        resource = ConfigResource(ResourceType.TOPIC, self.name)
        try:
            found = self._ask(lambda: self._admin.describe_configs([resource], request_timeout=self._timeout))
        except NotAllowed:
            return {}
        return {name: str(entry.value) for name, entry in found[resource].items()}

    def older_than(self, milliseconds: int, start: Offsets) -> list[int]:
        """The partitions whose record at `start` was written before a time; the log's times tell, nothing is read."""
        found = self._offsets(sorted(start), OffsetSpec.for_timestamp(milliseconds))
        return [partition for partition, young in sorted(found.items()) if young < 0 or start[partition] < young]

    def first_record_in(self, gaps: Gaps) -> tuple[int, int] | None:
        """Partition and offset of a committed record inside of ranges that should hold none; None if they are empty.

        Transaction markers and compaction leave such gaps, and only a consumer tells them from records that a reader
        has missed. One pass over each partition, from its first gap's beginning to its last one's end, and one consumer
        for all of them: to connect takes longer than to read.
        """
        # What is planned is there: at a log's end nobody has to wait for more.
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
        """The planned records whose time Spark cannot hold. All records of the plan pass by, no other is kept."""
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
        """For as long as this topic is used: to connect takes longer than to fetch a few records."""
        return Fetcher(self.name, lambda: self._consumer(FETCHING))

    def _next_offset(self, consumer: Consumer, wanted: Iterable[int]) -> tuple[int, int]:
        """Partition and offset of the next committed record, or of a partition's end."""
        message = self._next_message(consumer, f"partition {min(wanted)}")
        return int(message.partition()), int(message.offset())

    def _next_message(self, consumer: Consumer, where: str) -> Any:
        """The next committed record, or a log's end."""
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
        """Of committed records, and of no group: it is told what to read, and keeps no position."""
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
        found = self._ask(
            lambda: self._admin.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._timeout
            )
        )
        return {each.partition: answer.offset for each, answer in found.items()}

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
        found = misconfigured(self.brokers, self.access, self._heard)
        self._heard.clear()
        if found is not None:
            raise found

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
    """How to start the first of these brokers that would be an embedded one."""
    for address in brokers.split(","):
        host, _, port = address.rpartition(":")
        if (start := start_service("kafka", host, int(port))) is not None:
            return f"start it with {start}, or "
    return "start it, or "
