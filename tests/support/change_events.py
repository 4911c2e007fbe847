"""Change events of Debezium as a test reads them: the rows that they add up to, in plain Python."""

import base64
import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition

PLACEHOLDER = "__debezium_unavailable_value"
BASE64_PLACEHOLDER = base64.b64encode(PLACEHOLDER.encode()).decode()
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMES = {
    "io.debezium.time.Date": lambda days: date(1970, 1, 1) + timedelta(days=days),
    "io.debezium.time.MicroTimestamp": lambda micros: (EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None),
    "io.debezium.time.MicroTime": lambda micros: (EPOCH + timedelta(microseconds=micros)).time(),
}


def read_topic(address: str, topic: str) -> list[Message]:
    """Every committed record of a topic with one partition, in its order."""
    consumer = Consumer(
        {
            "bootstrap.servers": address,
            "group.id": "test",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    found = []
    try:
        if topic not in consumer.list_topics(timeout=10).topics:
            return []
        consumer.assign([TopicPartition(topic, 0, 0)])
        while (message := consumer.poll(30)) is not None and message.error() is None:
            found.append(message)
    finally:
        consumer.close()
    return found


@dataclass
class Replayed:
    """What a reader of the events knows: the rows by key, and how many events of each operation came."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    operations: Counter[str] = field(default_factory=Counter)
    _moved: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, message: Message) -> None:
        if message.value() is None:
            self.operations["tombstone"] += 1
            return
        event = json.loads(message.value())
        payload = event["payload"]
        self.operations[payload["op"]] += 1
        if payload["op"] == "t":
            self.rows.clear()
            return
        key = canonical_key(message.key())
        headers = dict(message.headers() or [])
        if payload["op"] == "d":
            former = self.rows.pop(key)
            # The row goes on under another key, and its untouched large values are known only here.
            self._moved |= {key: former} if "__debezium.newkey" in headers else {}
            return
        before = self.rows.get(key, {})
        if "__debezium.oldkey" in headers:
            before = self._moved.pop(canonical_key(headers["__debezium.oldkey"]))
        kinds = {each["field"]: each for each in after_fields(event["schema"])}
        self.rows[key] = {
            name: before[name] if is_placeholder(value) else decoded(value, kinds[name])
            for name, value in payload["after"].items()
        }


def replayed(messages: list[Message]) -> Replayed:
    found = Replayed()
    for message in messages:
        found.take(message)
    return found


def canonical_key(key: bytes) -> str:
    """The key of a record, which comes with its schema, or of a header, which comes without."""
    content = json.loads(key)
    return json.dumps(content["payload"] if {"schema", "payload"} == set(content) else content, sort_keys=True)


def after_fields(schema: dict[str, Any]) -> list[dict[str, Any]]:
    (after,) = [each for each in schema["fields"] if each["field"] == "after"]
    return list(after["fields"])


def is_placeholder(value: Any) -> bool:
    return value in (PLACEHOLDER, BASE64_PLACEHOLDER, [PLACEHOLDER], [ord(each) for each in PLACEHOLDER])


def decoded(value: Any, field_schema: dict[str, Any]) -> Any:
    if value is None:
        return None
    if field_schema["type"] == "bytes":
        return base64.b64decode(value)
    return TIMES.get(field_schema.get("name", ""), lambda same: same)(value)
