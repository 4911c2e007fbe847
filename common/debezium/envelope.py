"""Read the values of Debezium's messages: events of rows, truncates, logical messages, and what is no event."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any

from common.debezium.rejection import Reason, Rejected

# Fields by which a flattened event is known: ExtractNewRecordState adds them where it is asked to.
FLAT_FIELDS = ("__deleted", "__op", "__table", "__lsn", "__source_ts_ms")
OLD_KEY, NEW_KEY = "__debezium.oldkey", "__debezium.newkey"
UNWRAP = "remove the transform ExtractNewRecordState from the connector; only whole envelopes can be applied"


class Operation(StrEnum):
    """Every value of `op`."""

    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    TRUNCATE = "t"
    MESSAGE = "m"


class Snapshot(StrEnum):
    """Every value of `source.snapshot`: which part of a snapshot an event comes from, if any."""

    TRUE = "true"
    FIRST = "first"
    FIRST_IN_TABLE = "first_in_data_collection"
    LAST_IN_TABLE = "last_in_data_collection"
    LAST = "last"
    INCREMENTAL = "incremental"
    FALSE = "false"


class MessageKind(StrEnum):
    """What a message of a connector is, by its value."""

    EVENT = "event"
    TOMBSTONE = "tombstone"
    LOGICAL_MESSAGE = "logical message"
    TRANSACTION = "transaction"
    HEARTBEAT = "heartbeat"
    SCHEMA_CHANGE = "schema change"


@dataclass(frozen=True)
class Event:
    """An envelope: what happened to one row, or to all rows of a table."""

    operation: Operation
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    source: Mapping[str, Any]
    snapshot: Snapshot
    # The transaction's id and the event's number in it, where the connector provides them.
    transaction: str | None = None
    total_order: int | None = None

    @property
    def connector(self) -> str:
        return str(self.source.get("connector"))

    @property
    def is_read(self) -> bool:
        """True for a row that a snapshot of any kind has read."""
        return self.operation is Operation.READ


def payload_of(value: Any) -> Any:
    """Return the payload of a JSON message, with or without a schema beside it."""
    has_schema = isinstance(value, dict) and value.keys() == {"schema", "payload"}
    return value["payload"] if has_schema else value


def message_kind(payload: Any) -> MessageKind:
    """Tell what a message is. A flattened event, and what is no message of Debezium, is rejected by name."""
    if payload is None:
        return MessageKind.TOMBSTONE
    if not isinstance(payload, Mapping):
        raise Rejected(Reason.NOT_AN_ENVELOPE, "the value is no object, so it is no message of Debezium")
    if "op" in payload and "source" in payload:
        return MessageKind.LOGICAL_MESSAGE if payload["op"] == Operation.MESSAGE else MessageKind.EVENT
    if "ddl" in payload and "source" in payload:
        return MessageKind.SCHEMA_CHANGE
    if payload.keys() >= {"status", "id", "event_count"}:
        return MessageKind.TRANSACTION
    if payload.keys() == {"ts_ms"}:
        return MessageKind.HEARTBEAT
    raise not_an_envelope(payload.keys())


def not_an_envelope(fields: Sequence[str] | Any) -> Rejected:
    """Build the rejection of a value without an envelope: flattened, or of another producer."""
    flat = [name for name in FLAT_FIELDS if name in fields]
    if flat:
        return Rejected(Reason.FLATTENED_EVENT, f"the event is flattened (it has {', '.join(flat)}): {UNWRAP}")
    return Rejected(
        Reason.NOT_AN_ENVELOPE,
        f"the value has no fields op and source: it is flattened, or not of Debezium; if flattened, {UNWRAP}",
    )


def read_event(payload: Mapping[str, Any]) -> Event:
    """Read an envelope. An operation or a snapshot marker that nobody knows is rejected, never guessed."""
    if not isinstance(payload.get("source"), Mapping) or "op" not in payload:
        raise not_an_envelope(payload.keys())
    source, block = payload["source"], payload.get("transaction") or {}
    return Event(
        operation_of(payload["op"]),
        payload.get("before"),
        payload.get("after"),
        source,
        snapshot_of(source.get("snapshot")),
        transaction_of(str(source.get("connector")), block.get("id")),
        block.get("total_order"),
    )


def operation_of(text: Any) -> Operation:
    try:
        return Operation(text)
    except ValueError:
        known = ", ".join(Operation)
        raise Rejected(Reason.UNKNOWN_OPERATION, f"the operation '{text}' is none of {known}") from None


def snapshot_of(text: Any) -> Snapshot:
    """Read the snapshot marker. A converter that keeps nulls leaves out `false`, which is the field's default."""
    try:
        return Snapshot.FALSE if text is None else Snapshot(str(text).lower())
    except ValueError:
        known = ", ".join(Snapshot)
        raise Rejected(Reason.UNKNOWN_SNAPSHOT, f"the snapshot marker '{text}' is none of {known}") from None


def transaction_of(connector: str, text: str | None) -> str | None:
    """Return the id that all messages of a transaction share.

    PostgreSQL's connector writes `txid:lsn` with the LSN of each message. A GTID of MySQL has a colon of its own.
    """
    if text is None or connector != "postgresql":
        return text
    return text.partition(":")[0]


def refuse_other_keys(fields: Sequence[str] | None, declared: Sequence[str]) -> None:
    """Reject a message whose key has other columns than the declared ones, in any order.

    The connector reads keys beside the stream: for a moment after a key's definition changed they may be wrong.
    """
    if fields is None:
        raise Rejected(
            Reason.KEY_MISSING,
            "the message has no key: give the table a primary key, set message.key.columns, or declare it append-only",
        )
    if set(fields) != set(declared):
        raise Rejected(
            Reason.KEY_MISMATCH,
            f"the message's key has the columns {', '.join(fields)}, and the pipeline declares {', '.join(declared)}",
        )


def header_key(headers: Sequence[tuple[str, Any]], name: str) -> dict[str, Any] | None:
    """Read the key in a header of a key change; None where there is no such header, or no object in it.

    Connect writes headers as JSON without a schema, whatever the format of the value is, and a decimal as a number:
    `reference.convert_header` reads its values.
    """
    values = [value for header, value in headers if header == name and value is not None]
    if not values:
        return None
    try:
        # Connect does not escape line breaks within a text.
        key = payload_of(json.loads(values[-1], parse_float=Decimal, strict=False))
    except ValueError:
        return None
    return dict(key) if isinstance(key, Mapping) else None
