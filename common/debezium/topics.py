"""Which topics of a connector hold a table's changes, which hold something else, and which Delta table a topic fills.

A table's topic is `PREFIX.SCHEMA.TABLE` (of MySQL and MariaDB `PREFIX.DATABASE.TABLE`). Its Delta table lies in the
folder `SCHEMA/TABLE` and is called `SCHEMA_TABLE`, both in lower case and with `_` for whatever is no letter of ASCII,
no digit and no underscore. Two topics that would share a folder or a name are refused.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from common.errors import ConfigurationError

# Kafka Connect's and Debezium's own defaults.
HEARTBEAT_PREFIX = "__debezium-heartbeat"
TRANSACTION = "transaction"
MESSAGE = "message"
NOT_IN_TOPICS = re.compile(r"[^A-Za-z0-9._-]")
NOT_IN_NAMES = re.compile(r"[^a-z0-9_]")
# The tables that stand beside a table, named after it: a source's table may not have the folder of one of them.
SIDE_SUFFIXES = ("_quarantine", "_late", "_deleted_keys", "_history")


class TopicKind(StrEnum):
    """What a topic holds."""

    TABLE = "table"
    HEARTBEAT = "heartbeat"
    TRANSACTION = "transaction"
    SIGNAL = "signal"
    MESSAGE = "message"
    # DDL for consumers, and the connector's own memory of it.
    SCHEMA_CHANGES = "schema changes"
    SCHEMA_HISTORY = "schema history"
    OTHER = "other"


@dataclass(frozen=True)
class SourceTable:
    """A table as its topic names it. The events' own `source` has the names before Debezium made a topic of them."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True)
class Topics:
    """The topics of one connector, by its settings."""

    prefix: str
    delimiter: str = "."
    heartbeat_prefix: str = HEARTBEAT_PREFIX
    # The whole name, where `topic.heartbeat.name` gives one that several connectors share.
    heartbeat_topic: str | None = None
    transaction: str = TRANSACTION
    # Tables through which signals are sent, as `schema.table`; published like any table, and no target.
    signals: frozenset[str] = frozenset()
    # Topics that a connector reads signals from, or keeps its schema history in.
    signal_topics: frozenset[str] = frozenset()
    schema_history: str | None = None
    # By the pattern of a partition's `schema.table`: the table that it is a part of.
    partition_roots: Mapping[str, str] = field(default_factory=dict)

    def kind(self, topic: str) -> TopicKind:
        """Tell what a topic holds, by its name alone."""
        known = {
            self.prefix: TopicKind.SCHEMA_CHANGES,
            self.heartbeat_topic or self.delimiter.join((self.heartbeat_prefix, self.prefix)): TopicKind.HEARTBEAT,
            self.delimiter.join((self.prefix, self.transaction)): TopicKind.TRANSACTION,
            # Debezium writes this one with a point whatever the delimiter is.
            f"{self.prefix}.{MESSAGE}": TopicKind.MESSAGE,
            **dict.fromkeys(self.signal_topics, TopicKind.SIGNAL),
        }
        if self.schema_history is not None:
            known[self.schema_history] = TopicKind.SCHEMA_HISTORY
        if topic in known:
            return known[topic]
        table = self._named_table(topic)
        if table is None:
            return TopicKind.OTHER
        return TopicKind.SIGNAL if str(table) in self.signals else TopicKind.TABLE

    def table(self, topic: str) -> SourceTable | None:
        """Return the table of a topic, and for a partition's topic the table that it is a part of."""
        table = self._named_table(topic) if self.kind(topic) is TopicKind.TABLE else None
        if table is None:
            return None
        roots = (root for pattern, root in self.partition_roots.items() if re.fullmatch(pattern, str(table)))
        root = next(roots, None)
        return table if root is None else SourceTable(*root.split(".", 1))

    def topic(self, table: SourceTable) -> str:
        """Return the topic to which Debezium sends the changes of a table."""
        return NOT_IN_TOPICS.sub("_", self.delimiter.join((self.prefix, table.schema, table.name)))

    def _named_table(self, topic: str) -> SourceTable | None:
        beginning = f"{self.prefix}{self.delimiter}"
        schema, found, name = topic.removeprefix(beginning).partition(self.delimiter)
        return SourceTable(schema, name) if topic.startswith(beginning) and found and schema and name else None


@dataclass(frozen=True)
class DeltaName:
    """Where the table of a topic lies below the pipeline's folder, and its name in a catalog."""

    folder: str
    name: str


def delta_name(table: SourceTable) -> DeltaName:
    schema, name = (NOT_IN_NAMES.sub("_", part.lower()) for part in (table.schema, table.name))
    return DeltaName(f"{schema}/{name}", f"{schema}_{name}")


def delta_names(tables: Iterable[SourceTable], given: Mapping[str, DeltaName] | None = None) -> dict[str, DeltaName]:
    """Name the Delta tables of several tables, by `schema.table`. `given` has those that the pipeline file names."""
    named = {str(table): (given or {}).get(str(table)) or delta_name(table) for table in sorted(set(tables), key=str)}
    refuse_collisions(named)
    return named


def refuse_collisions(named: Mapping[str, DeltaName]) -> None:
    """Refuse two tables of one folder or name, and a table in the folder of another one's side table."""
    owners: dict[str, str] = {}
    for table, delta in named.items():
        for place in (f"folder {delta.folder}", f"name {delta.name}"):
            other = owners.setdefault(place.lower(), table)
            if other != table:
                raise collision(other, table, place)
    for table, delta in named.items():
        for suffix in SIDE_SUFFIXES:
            beside = owners.get(f"folder {delta.folder}{suffix}".lower())
            if beside is not None:
                raise collision(table, beside, f"folder {delta.folder}{suffix}")


def collision(one: str, other: str, place: str) -> ConfigurationError:
    return ConfigurationError(
        f"the source's tables {one} and {other} would share the {place}",
        f'give one of them its own path and table_name in [tables."{other}"], or exclude it',
    )
