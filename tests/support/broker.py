"""A running broker, seen by a test."""

import uuid

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from tests.support.waiting import await_true


class Broker:
    """Topics and records on one broker."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 0})

    def create_topic(
        self, name: str | None = None, *, partitions: int = 3, config: dict[str, str] | None = None
    ) -> str:
        name = name or f"topic-{uuid.uuid4().hex[:8]}"
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config or {})
        self.admin.create_topics([new])[name].result(timeout=30)
        # The controller has it now; the broker, on a busy machine, hears of it a moment later.
        self._await_topic(name, there=True)
        return name

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(timeout=30)

    def recreate_topic(self, name: str, *, partitions: int = 3) -> None:
        self.delete_topic(name)
        self._await_topic(name, there=False)
        self.create_topic(name, partitions=partitions)

    def _await_topic(self, name: str, *, there: bool) -> None:
        await_true(
            lambda: (name in self.admin.list_topics(timeout=10).topics) == there,
            f"topic {name}" if there else f"the end of topic {name}",
            pause=0.01,
        )

    def add_partitions(self, topic: str, total: int) -> None:
        self.admin.create_partitions([NewPartitions(topic, total)])[topic].result(timeout=30)

    def delete_records(self, topic: str, partition: int, *, before: int) -> None:
        """What retention does, at once."""
        place = TopicPartition(topic, partition, before)
        self.admin.delete_records([place])[place].result(timeout=30)

    def quicken_compaction(self) -> None:
        """The cleaner looks for work several times a second, and not every 15 s."""
        (node,) = self.admin.list_topics(timeout=10).brokers
        often = ConfigEntry("log.cleaner.backoff.ms", "200", incremental_operation=AlterConfigOpType.SET)
        broker = ConfigResource(ConfigResource.Type.BROKER, str(node), incremental_configs=[often])
        self.admin.incremental_alter_configs([broker])[broker].result(timeout=30)

    def offsets_of(self, topic: str, partition: int) -> list[int]:
        """Of every record that a partition still has."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": "test",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
            }
        )
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
        offsets = []
        try:
            while (message := consumer.poll(30)) is not None and message.error() is None:
                offsets.append(message.offset())
        finally:
            consumer.close()
        return offsets

    def produce(
        self,
        topic: str,
        records: list[tuple[bytes | None, bytes | None]],
        partition: int | None = None,
        config: dict[str, str | int] | None = None,
        milliseconds: int = 0,
    ) -> None:
        """Key and value of each record, in order, all of them delivered or the test fails. `milliseconds` is their
        time, if not now.

        Idempotent, since a resend of one that is not may overtake: records in another order than they were given."""
        failed: list[object] = []
        producer = Producer({"bootstrap.servers": self.address, "enable.idempotence": True, **(config or {})})
        where = {} if partition is None else {"partition": partition}
        for key, value in records:
            producer.produce(
                topic,
                key=key,
                value=value,
                timestamp=milliseconds,
                on_delivery=lambda error, _: error and failed.append(error),
                **where,
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed

    def produce_in_transactions(self, topic: str, records: list[tuple[bytes, bytes]], ends: str) -> None:
        """Each to partition 0 in a transaction of its own, which leaves a marker: c commits it, a aborts it."""
        producer = Producer({"bootstrap.servers": self.address, "transactional.id": topic})
        producer.init_transactions(30)
        finish = {"c": producer.commit_transaction, "a": producer.abort_transaction}
        for (key, value), letter in zip(records, ends, strict=True):
            producer.begin_transaction()
            producer.produce(topic, key=key, value=value, partition=0)
            producer.flush(30)
            finish[letter](30)
        # The coordinator answers before the last marker is written: until then the transaction is open to readers.
        await_true(lambda: self._end(topic, committed=True) == self._end(topic, committed=False), "the last marker")

    def _end(self, topic: str, *, committed: bool) -> int:
        """The end of partition 0, for a reader of committed records or for any."""
        place = TopicPartition(topic, 0)
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answer = self.admin.list_offsets({place: OffsetSpec.latest()}, isolation_level=level)[place]
        return int(answer.result(timeout=30).offset)
