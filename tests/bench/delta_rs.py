"""delta-rs: a consumer, Arrow, and its own MERGE; no JVM."""

import json

import pyarrow as pa
from confluent_kafka import Consumer, Message, TopicPartition
from deltalake import DeltaTable

from tests.bench.contenders import DeltaCopy, Place, Sent, Timing, stock_copy, timed
from tests.bench.merges import condition

SCHEMA = pa.schema(
    [
        ("latitude", pa.float64()),
        ("longitude", pa.float64()),
        ("time", pa.string()),
        ("temperature_2m", pa.float64()),
        ("month", pa.string()),
    ]
)
WAIT_SECONDS = 30.0


class DeltaRs:
    """Its consumer and its table stay open, as in a long-lived process.

    With its default of a streamed source it does not look at the source's own values: alone, it reads every file.
    """

    in_jvm = False
    table: DeltaCopy

    def __init__(self, name: str, *, is_bounded: bool) -> None:
        self.name, self.is_bounded = name, is_bounded

    def prepare(self, place: Place) -> None:
        self.table = stock_copy(place, self.name)
        self._open = DeltaTable(str(self.table.path))
        self._consumer = Consumer(
            {
                "bootstrap.servers": place.topic.brokers,
                "group.id": self.name,
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(*each, 0) for each in place.topic.partitions()])

    def run(self, sent: Sent) -> Timing:
        with timed() as timing:
            (
                self._open.merge(
                    latest(self._consumed(len(sent.rows))),
                    condition(sent, is_bounded=self.is_bounded),
                    source_alias="s",
                    target_alias="t",
                )
                .when_matched_update_all()
                .when_not_matched_insert_all()
                .execute()
            )
        return timing

    def _consumed(self, count: int) -> list[Message]:
        found: list[Message] = []
        while len(found) < count:
            some = self._consumer.consume(count - len(found), timeout=WAIT_SECONDS)
            if not some:
                raise TimeoutError(f"{len(found)} of {count} records came")
            found += some
        return found


def latest(messages: list[Message]) -> pa.Table:
    """The last event of each key; a key's events are all in one partition."""
    events = {message.key(): json.loads(message.value()) for message in messages}
    return pa.Table.from_pylist([{**event, "month": event["time"][:7]} for event in events.values()], schema=SCHEMA)
