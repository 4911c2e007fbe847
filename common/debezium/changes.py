"""What an event means for the rows of its table, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from common.debezium.conversions import Carrier
from common.debezium.envelope import (
    NEW_KEY,
    OLD_KEY,
    Event,
    MessageKind,
    Operation,
    header_key,
    message_kind,
    read_event,
    refuse_other_keys,
)
from common.debezium.rejection import Reason, Rejected
from common.debezium.source_schema import SourceColumn, SourceSchema
from common.debezium.unchanged import Placeholder, is_unchanged
from common.errors import ConfigurationError

Row = Mapping[str, Any]


class ChangeKind(StrEnum):
    """What happens to a row, or to a table."""

    UPSERT = "upsert"
    # A row of a table without a key, which is only ever added to.
    APPEND = "append"
    DELETE = "delete"
    TRUNCATE = "truncate"
    # A record without a value, for Kafka's compaction: the delete before it has said everything.
    TOMBSTONE = "tombstone"
    # A message that is of no table: counted, never applied.
    SKIP = "skip"


@dataclass(frozen=True)
class Change:
    """One change, with values as the message has them."""

    kind: ChangeKind
    key: Row | None = None
    # The columns of the row whose values are known; those in `unchanged` are not among them.
    values: Row | None = None
    unchanged: frozenset[str] = frozenset()
    is_read: bool = False
    # Of a key change: the key that the row had before, or gets with another change.
    moved_from: Row | None = None
    moved_to: Row | None = None


@dataclass(frozen=True)
class Reading:
    """How the messages of one table are read. Without keys the table is append-only."""

    schema: SourceSchema
    keys: tuple[str, ...]
    placeholder: Placeholder
    carrier: Carrier

    def unchanged(self, row: Row) -> frozenset[str]:
        return frozenset(
            column.name
            for column in self.schema.columns
            if is_unchanged(column, row.get(column.field), self.placeholder, self.carrier)
        )

    def named_key(self, key: Row | None) -> Row | None:
        """Return a message's key under the names of the source, which Avro may not allow."""
        names = {column.field: column.name for column in self.schema.columns}
        return None if key is None else {names.get(field, field): value for field, value in key.items()}


def changes_of(
    key: Row | None, payload: Any, reading: Reading, headers: Sequence[tuple[str, Any]] = ()
) -> list[Change]:
    """Return what a message of a table's topic does: mostly one change, two where an update changes the key."""
    kind = message_kind(payload)
    if kind is MessageKind.TOMBSTONE:
        return [Change(ChangeKind.TOMBSTONE, key)]
    if kind is not MessageKind.EVENT:
        return [Change(ChangeKind.SKIP)]
    event = read_event(payload)
    if event.operation is Operation.TRUNCATE:
        return [Change(ChangeKind.TRUNCATE)]
    if not reading.keys:
        return [append(event, reading)]
    key = reading.named_key(key)
    refuse_other_keys(None if key is None else list(key), reading.keys)
    if event.operation is Operation.DELETE:
        return [Change(ChangeKind.DELETE, key, moved_to=reading.named_key(header_key(headers, NEW_KEY)))]
    return upserts(key or {}, event, reading, reading.named_key(header_key(headers, OLD_KEY)))


def append(event: Event, reading: Reading) -> Change:
    """Return a new row of a table without a key. Nobody can say which row an update or a delete is about."""
    if event.operation not in {Operation.CREATE, Operation.READ} or event.after is None:
        raise Rejected(
            Reason.KEY_MISSING,
            f"an event of operation '{event.operation}' came for a table without a key: give it a primary key, or set "
            "message.key.columns and declare the keys",
        )
    return Change(ChangeKind.APPEND, None, named_row(reading.schema.columns, event.after), is_read=event.is_read)


def upserts(key: Row, event: Event, reading: Reading, old_key: Row | None) -> list[Change]:
    """Return the upsert of a row, after the delete of its old key where the event itself changes the key."""
    if event.after is None:
        raise Rejected(Reason.ROW_MISSING, f"an event of operation '{event.operation}' has no row in 'after'")
    row = named_row(reading.schema.columns, event.after)
    unchanged = reading.unchanged(event.after)
    values = {name: value for name, value in row.items() if name not in unchanged}
    own = {name: values.get(name) for name in reading.keys}
    if own != {name: key[name] for name in reading.keys}:
        raise Rejected(Reason.KEY_MISMATCH, "the message's key and the row in 'after' have different key values")
    moved = old_key or replaced_key(event, own, reading)
    upsert = Change(ChangeKind.UPSERT, own, values, unchanged, event.is_read, moved_from=moved)
    is_one_event = moved is not None and old_key is None
    return [Change(ChangeKind.DELETE, moved, moved_to=own), upsert] if is_one_event else [upsert]


def named_row(columns: Sequence[SourceColumn], row: Row) -> Row:
    """Return a row of a message under the names of the source."""
    return {column.name: row.get(column.field) for column in columns}


def replaced_key(event: Event, own: Row, reading: Reading) -> Row | None:
    """Return the key before an update that changes declared keys without a delete of its own.

    Debezium sends a delete where the message's key changes. `before` is used for nothing else: under the usual replica
    identity its other columns are null or defaults that the row never had.
    """
    if event.operation is not Operation.UPDATE or event.before is None:
        return None
    before = {name: named_row(reading.schema.columns, event.before).get(name) for name in reading.keys}
    return before if before != own and None not in before.values() else None


def refuse_truncate(table: str, partitions: int) -> None:
    """Stop for a truncate whose order against the rows of other partitions nobody can tell: it has no key."""
    if partitions > 1:
        raise ConfigurationError(
            f"the source's table {table} was truncated, and its topic has {partitions} partitions: nobody can tell "
            "which rows came before",
            "create the topic with one partition, or take an incremental snapshot and let the policy skip truncates",
        )
