"""Events of a hostile producer, seeded: repeated, out of order, late, from the future, broken, without a value."""

import json
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

PARTITIONS = 3
KEYS = 400
# A record's own time; an event's time is told apart from it by the late bound (1 day) and the future bound (1 hour).
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
PIPELINE = """\
[source]
topic = "any"
max_records_per_batch = {max_records}
null_value = "{null_value}"

[source.columns]
id = "bigint"
part = "string"
version = "bigint"
at = "timestamp"
degrees = "double"

[target]
keys = ["id"]
sequence = "{sequence}"
lineage = {lineage}
partition_by = ["part"]
properties = {properties}

[late]
column = "at"
bound = "1d"
action = "keep"
future_bound = "1h"

[[quality.rules]]
name = "plausible"
check = "degrees < 100"
"""
BROKEN = (b"not json", b'{"id": 1', b"\xff\xfe", b"[1]", b'{"id": "1"}', b'{"version": 3}', b'{"id": 7, "degrees": 1}')


@dataclass(frozen=True)
class Order:
    """What decides which event of a key is the newest, and what a record without a value means."""

    name: str
    sequence: str
    null_value: str
    lineage: str
    properties: str = "{}"

    def pipeline(self, max_records: int) -> str:
        return PIPELINE.format(
            max_records=max_records,
            sequence=self.sequence,
            null_value=self.null_value,
            lineage=self.lineage,
            properties=self.properties,
        )


# A version that events bear: a key's events may come in any order, from any partition.
# With a change feed, which leaves batches to Delta's MERGE: it has deaths of its own, and leaves compaction more to do.
BY_VERSION = Order("by version", "version", "skip", "false", '{ "delta.enableChangeDataFeed" = "true" }')
# The place in the topic: a key's events are in one partition, and one without a value deletes.
BY_POSITION = Order("by position", "position", "delete", "true")


@dataclass(frozen=True)
class Shares:
    """Of all records, the shares that are repeated, out of order, late and so on; the rest is new and in order."""

    repeated: float = 0.2
    disordered: float = 0.1
    broken: float = 0.02
    late: float = 0.02
    future: float = 0.01
    implausible: float = 0.01
    null: float = 0.01


@dataclass(frozen=True)
class Sent:
    """A record on its way to the broker."""

    partition: int
    key: bytes
    value: bytes | None
    time: datetime


class Producer:
    """Endless events of few keys. What is out of order bears an older version than was sent before."""

    def __init__(self, seed: int, shares: Shares, order: Order = BY_VERSION, *, keys: int = KEYS) -> None:
        self._random = random.Random(seed)
        self._shares = shares
        self._order = order
        self._keys = keys
        self._version = 0
        self._recent: deque[Sent] = deque(maxlen=1000)
        self._older: list[Sent] = []

    def events(self, count: int) -> Iterator[Sent]:
        for _ in range(count):
            yield self._next()

    def _next(self) -> Sent:
        kinds = vars(self._shares)
        kind = self._random.choices([*kinds, "new"], [*kinds.values(), 1 - sum(kinds.values())])[0]
        if kind == "repeated" and self._older:
            return self._random.choice(self._random.choice([self._recent, self._older]))
        if kind == "broken":
            return self._sent(self._random.randrange(self._keys), self._random.choice(BROKEN))
        if kind == "null":
            identity = self._random.randrange(self._keys)
            return self._sent(identity, None, self._random.choice([message_key(identity)] * 4 + [b"?"]))
        event = self._event(kind)
        sent = self._sent(event["id"], json.dumps(event).encode())
        self._recent.append(sent)
        # Of all that was ever sent: repetitions reach across batches too.
        if self._version % 50 == 1:
            self._older.append(sent)
        return sent

    def _event(self, kind: str) -> dict[str, Any]:
        identity = self._random.randrange(self._keys)
        self._version += 1
        # No two events of a key share a version: then which of them wins would be the reader's choice.
        behind = self._random.randrange(1, self._version + 1) if kind == "disordered" else 0
        at = NOON + {"late": -timedelta(days=3), "future": timedelta(days=3650)}.get(kind, timedelta())
        return {
            "id": identity,
            "part": f"p{identity % 4}",
            "version": (self._version - behind) * 1_000_000 + self._version,
            "at": at.isoformat().replace("+00:00", "Z"),
            "degrees": 1000.0 if kind == "implausible" else round(self._random.uniform(-30, 40), 3),
        }

    def _sent(self, identity: int, value: bytes | None, key: bytes | None = None) -> Sent:
        anywhere = self._random.randrange(PARTITIONS)
        partition = identity % PARTITIONS if self._order is BY_POSITION else anywhere
        return Sent(partition, message_key(identity) if key is None else key, value, NOON)


def message_key(identity: int) -> bytes:
    return json.dumps({"id": identity}).encode()
