"""Recorded messages of Debezium; tests/fixtures/debezium/README.md says what each shows."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from common.debezium.changes import Change, Reading, changes_of
from common.debezium.conversions import Carrier
from common.debezium.envelope import Event, payload_of, read_event
from common.debezium.json_schema import source_schema
from common.debezium.order import Order
from common.debezium.positions import order_of
from common.debezium.source_schema import SourceSchema
from common.debezium.unchanged import Placeholder
from tests.support.commands import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "debezium"


@dataclass(frozen=True)
class Message:
    """A recorded message, with its payloads."""

    case: str
    topic: str
    partition: int
    offset: int
    key: Any
    payload: Any
    headers: tuple[tuple[str, Any], ...]
    # None where it was recorded without one.
    schema: SourceSchema | None

    @property
    def event(self) -> Event:
        return read_event(self.payload)

    @property
    def order(self) -> Order:
        return order_of(self.event, self.topic, self.partition, self.offset)

    def changes(self, placeholder: str = "__debezium_unavailable_value") -> list[Change]:
        schema = schema_at(self.topic, self.offset)
        reading = Reading(schema, schema.keys or (), Placeholder.of(placeholder), Carrier.JSON)
        return changes_of(self.key, self.payload, reading, self.headers)


@cache
def recorded() -> dict[tuple[str, int], Message]:
    """Read every message, by topic and offset."""
    lines = [line for name in ("postgres", "mariadb") for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]
    messages = [message_of(json.loads(line)) for line in lines]
    return {(message.topic, message.offset): message for message in messages}


def message_of(line: dict[str, Any]) -> Message:
    key, value = line["key"], line["value"]
    return Message(
        line["case"],
        line["topic"],
        line["partition"],
        line["offset"],
        payload_of(key),
        payload_of(value),
        tuple((name, text) for name, text in line["headers"]),
        schema_in(key, value),
    )


def schema_in(key: Any, value: Any) -> SourceSchema | None:
    if not isinstance(value, dict) or "schema" not in value:
        return None
    if not any(field.get("field") == "after" for field in value["schema"]["fields"]):
        return None
    return source_schema(value["schema"], None if key is None else key["schema"])


def message(topic: str, offset: int) -> Message:
    return recorded()[topic, offset]


def messages(topic: str) -> list[Message]:
    return [each for (name, _), each in sorted(recorded().items()) if name == topic]


def schema_at(topic: str, offset: int) -> SourceSchema:
    """Return the newest schema that was recorded in a topic up to an offset. A truncate has no key."""
    known = [each.schema for each in messages(topic) if each.schema is not None and each.offset <= offset]
    if not known:
        raise LookupError(f"no schema was recorded in {topic} up to {offset}")
    keys = next((schema.keys for schema in known if schema.keys is not None), None)
    return known[-1].with_keys(keys)
