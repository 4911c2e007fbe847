"""Ask the broker about topics: their identity, their partitions, their offsets. Every request has a time-out."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, ConfigResource, OffsetSpec, ResourceType

from common.errors import BrokerUnreachable, ConfigurationError, NotAllowed, StateError, TopicMissing
from common.kafka.consumer import SETTINGS as FETCHING
from common.kafka.consumer import Fetcher, Record, is_out_of_reach, record_of, to_assign
from common.kafka.refusal import misconfigured, reason
from common.model.offsets import Available, Offsets, Plan, TopicPartition
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
Gaps = Mapping[TopicPartition, Sequence[tuple[int, int]]]


class LeaderMoving(BrokerUnreachable):
    """No broker leads the partition just now."""


class Topic(NamedTuple):
    """A topic's id, which a recreated topic does not share, and its partitions."""

    id: str
    partitions: list[TopicPartition]


class TopicClient:
    """One topic or several on one cluster. `topics` has their names, joined by commas as in Kafka's own options."""

    def __init__(
        self, brokers: str, topics: str, *, access: Access = OPEN, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self.brokers = brokers
        self.names = tuple(topics.split(","))
        self.access = access
        self._timeout = timeout_seconds
        # The client's own errors, because a request itself ends only with its time-out, whatever the reason.
        self._heard: deque[KafkaError] = deque(maxlen=20)
        self._admin = self._client()

    def describe(self) -> dict[str, Topic]:
        """Return each topic by its name."""
        wanted = TopicCollection(list(self.names))
        answers = self._ask(lambda: self._admin.describe_topics(wanted, request_timeout=self._timeout))
        return {
            name: Topic(str(described.topic_id), sorted(TopicPartition(name, each.id) for each in described.partitions))
            for name, described in answers.items()
        }

    def ids(self) -> dict[str, str]:
        """Return the id of each topic by its name."""
        return {name: topic.id for name, topic in self.describe().items()}

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions of all topics."""
        return [each for topic in self.describe().values() for each in topic.partitions]

    def available(self) -> Available:
        """Return the first and the end offsets that a reader of committed records may read now."""
        partitions = self.partitions()
        return Available(
            self._offsets(partitions, OffsetSpec.earliest()), self._offsets(partitions, OffsetSpec.latest())
        )

    def at_time(self, milliseconds: int) -> dict[TopicPartition, int]:
        """Return for each partition the first offset at or after a time, or its end where no record is that young."""
        offsets = self._offsets(self.partitions(), OffsetSpec.for_timestamp(milliseconds))
        ends = self.available().ends
        return {each: ends[each] if offset < 0 else offset for each, offset in offsets.items()}

    def settings(self, topic: str) -> dict[str, str]:
        """Return a topic's settings, defaults included; none where we may not ask."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        try:
            configs = self._ask(lambda: self._admin.describe_configs([resource], request_timeout=self._timeout))
        except NotAllowed:
            return {}
        return {name: str(entry.value) for name, entry in configs[resource].items()}

    def older_than(self, milliseconds: int, start: Offsets) -> list[TopicPartition]:
        """Return the partitions whose record at `start` was written before a time. No record is read for it."""
        offsets = self._offsets(sorted(start), OffsetSpec.for_timestamp(milliseconds))
        return [each for each, young in sorted(offsets.items()) if young < 0 or start[each] < young]

    def first_record_in(self, gaps: Gaps) -> tuple[TopicPartition, int] | None:
        """Return partition and offset of a committed record inside of ranges that should hold none; None without one.

        Transaction markers and compaction leave such gaps. Only a consumer can tell them from records that a reader
        has missed. It reads each partition once, from the beginning of its first gap to the end of its last. One
        consumer does all of it, because connecting takes longer than reading.
        """
        # A planned record exists: at the end of a log nothing has to be waited for.
        consumer = self._consumer({"group.id": "alluvium-gaps", "fetch.wait.max.ms": 10})
        remaining = {each: list(reversed(ranges)) for each, ranges in gaps.items() if ranges}
        try:
            consumer.assign(to_assign({each: ranges[-1][0] for each, ranges in remaining.items()}))
            while remaining:
                where, offset = self._next_offset(consumer, remaining)
                ranges = remaining.get(where, [])
                while ranges and ranges[-1][1] <= offset:
                    ranges.pop()
                if ranges and ranges[-1][0] <= offset:
                    return where, offset
                if not ranges and remaining.pop(where, None) is not None:
                    consumer.incremental_unassign([ClientPartition(*where)])
        finally:
            consumer.close()
        return None

    def records_out_of_reach(self, planned: Plan) -> Iterator[Record]:
        """Yield the planned records whose time Spark cannot hold. It reads the whole plan, and keeps no other."""
        consumer = self._consumer({"group.id": "alluvium-gaps"})
        open_ends = {each: end for each, end in planned.end.items() if planned.start[each] < end}
        try:
            consumer.assign(to_assign({each: planned.start[each] for each in open_ends}))
            while open_ends:
                message = self._next_message(consumer, "the topic")
                where, offset = TopicPartition(message.topic(), message.partition()), message.offset()
                end = open_ends.get(where, 0)
                if message.error() is None and offset < end and is_out_of_reach(message.timestamp()[1]):
                    yield record_of(message)
                if offset >= end - (message.error() is None):
                    open_ends.pop(where, None)
        finally:
            consumer.close()

    @cached_property
    def fetcher(self) -> Fetcher:
        """The fetcher, kept as long as these topics are used: connecting takes longer than fetching a few records."""
        return Fetcher(lambda: self._consumer(FETCHING))

    def _next_offset(self, consumer: Consumer, wanted: Iterable[TopicPartition]) -> tuple[TopicPartition, int]:
        """Return partition and offset of the next committed record, or of a partition's end."""
        message = self._next_message(consumer, str(min(wanted)))
        return TopicPartition(message.topic(), message.partition()), int(message.offset())

    def _next_message(self, consumer: Consumer, where: str) -> Any:
        """Poll the next committed record, or the end of a partition."""
        message = consumer.poll(SCAN_SECONDS)
        if message is None:
            raise self._unreachable(f"{where} gives nothing")
        if message.error() is not None and message.error().code() != KafkaError._PARTITION_EOF:
            self._translate(KafkaException(message.error()), message.topic())
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

    def _offsets(self, partitions: Sequence[TopicPartition], which: OffsetSpec) -> dict[TopicPartition, int]:
        wanted = {ClientPartition(*each): which for each in partitions}
        answers = self._ask(
            lambda: self._admin.list_offsets(
                wanted, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=self._timeout
            )
        )
        return {TopicPartition(each.topic, each.partition): answer.offset for each, answer in answers.items()}

    def _ask(self, request: "Callable[[], Mapping[Any, Future[Any]]]") -> dict[Any, Any]:
        until = time.monotonic() + self._timeout
        while True:
            try:
                return {about: self._answer(future, topic_of(about)) for about, future in request().items()}
            except LeaderMoving:
                if time.monotonic() > until:
                    raise
                time.sleep(HEAR_SECONDS)

    def _answer(self, future: "Future[Any]", topic: str) -> Any:
        until = time.monotonic() + self._timeout + 1
        looked = False
        while time.monotonic() < until:
            try:
                return future.result(timeout=HEAR_SECONDS)
            except KafkaException as error:
                self._translate(error, topic)
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

    def _translate(self, error: KafkaException, topic: str) -> NoReturn:
        cause: KafkaError = error.args[0]
        if cause.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise TopicMissing(
                f"no topic '{topic}' on {self.brokers}",
                f"create it: {services('create-topic', topic)}, or correct the name",
            ) from error
        if cause.code() in NOT_ALLOWED:
            raise NotAllowed(
                f"the broker {self.brokers} allows us nothing on topic '{topic}'",
                "have the user of [source.kafka] granted Describe and Read on it",
            ) from error
        if cause.code() in MOVING:
            raise LeaderMoving(f"no leader answers for '{topic}' on {self.brokers}", "try again later") from error
        if cause.code() in UNREACHABLE:
            self._refuse_misconfigured()
            raise self._unreachable(reason(cause)) from error
        raise StateError(
            f"the broker {self.brokers} refuses to describe '{topic}': {cause.str()}", "see its log"
        ) from error

    def _unreachable(self, reason: str) -> BrokerUnreachable:
        return BrokerUnreachable(
            f"no Kafka broker answers at {self.brokers} ({reason})",
            f"{start_broker(self.brokers)}correct the address",
        )


def topic_of(about: Any) -> str:
    """Return the topic that a request is about: the client names it, its partition, or its configuration."""
    return str(getattr(about, "topic", None) or getattr(about, "name", about))


def start_broker(brokers: str) -> str:
    """Say how to start the first of these brokers that can be an embedded one."""
    for address in brokers.split(","):
        host, _, port = address.rpartition(":")
        if (start := start_service("kafka", host, int(port))) is not None:
            return f"start it with {start}, or "
    return "start it, or "
