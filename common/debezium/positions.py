"""Where an event stands in its source, by connector: what `order` compares.

Each connector gives a domain and two numbers, or none of them. Two positions are comparable where their domains are
equal; everything else is left to Kafka's own order.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from common.debezium.envelope import Event
from common.debezium.order import Order, placed

Position = tuple[str, int, int]
FILE_NAME = re.compile(r"(.+)\.(\d+)")
MARIADB_GTID = re.compile(r"(\d+)-(\d+)-(\d+)")
MYSQL_GTID = re.compile(r"([0-9a-fA-F-]{36}(?::[^:\d][^:]*)?):(\d+)")
# A position in a binlog's file has 32 bits. With the number of a row they fill the 63 of a bigint.
ROW_BITS = 31
# Commit times of one server are not quite in the order of its commits, and clocks are set.
CLOCK_SKEW_MILLISECONDS = 60_000


def order_of(event: Event, topic: str, partition: int, offset: int) -> Order:
    """Build the order of an event from its source and its place in Kafka."""
    place = Order(topic, partition, offset)
    position = None if event.is_read else source_position(event)
    if position is None:
        return placed(place)
    domain, commit, row = position
    return Order(topic, partition, offset, domain, commit, row)


def source_position(event: Event) -> Position | None:
    """Return the position of a streamed event; None where it has none, or the connector is not known."""
    adapter = ADAPTERS.get(event.connector)
    return None if adapter is None else adapter(event.source)


def postgresql(source: Mapping[str, Any]) -> Position | None:
    """Read the LSN of a commit and that of the row.

    `sequence` begins with the LSN of the last commit before this transaction. Should a version tell the commit of the
    transaction itself, both grow along the stream, but an LSN of one kind says nothing about one of the other.
    """
    lsn = source.get("lsn")
    if lsn is None:
        return None
    if source.get("commit_lsn") is not None:
        return "postgresql commit", int(source["commit_lsn"]), int(lsn)
    parts = sequence_parts(source.get("sequence"))
    return None if parts is None else ("postgresql", *parts)


def sequence_parts(text: Any) -> tuple[int, int] | None:
    """Read `["26609160","26609216"]`; None where a part is missing or something else is written there."""
    try:
        parts = json.loads(text) if isinstance(text, str) else text
        commit, row, *_ = parts
        return int(commit), int(row)
    except (TypeError, ValueError):
        return None


def mariadb(source: Mapping[str, Any]) -> Position | None:
    """Read the sequence number of a GTID: it grows within a domain, whichever server writes.

    Rows of one transaction are told apart by their offsets. `pos` differs by server, and MariaDB's is the same for a
    whole transaction; older versions count `transaction.total_order` anew after a restart within one.
    """
    match = MARIADB_GTID.fullmatch(str(source.get("gtid")))
    return binlog(source) if match is None else (f"mariadb domain {match[1]}", int(match[3]), 0)


def mysql(source: Mapping[str, Any]) -> Position | None:
    """Read the number of a GTID: it grows for each server, and tag, that writes."""
    match = MYSQL_GTID.fullmatch(str(source.get("gtid")))
    return binlog(source) if match is None else (f"mysql {match[1].lower()}", int(match[2]), 0)


def binlog(source: Mapping[str, Any]) -> Position | None:
    """Read file and place in the binlog of one server; another server or base name is another domain."""
    match = FILE_NAME.fullmatch(str(source.get("file")))
    if match is None or source.get("pos") is None or not source.get("server_id"):
        return None
    place = (int(source["pos"]) << ROW_BITS) | int(source.get("row") or 0)
    return f"binlog {source['server_id']} {match[1]}", int(match[2]), place


ADAPTERS: dict[str, Callable[[Mapping[str, Any]], Position | None]] = {
    "postgresql": postgresql,
    "mariadb": mariadb,
    "mysql": mysql,
}


def looks_reset(event: Event, previous: Event) -> bool:
    """True where a later event of a partition has a smaller position although its transaction was committed later.

    A connector that sends events again sends them with their old times. A position that shrinks while the time goes on
    is that of another database: restored, or replaced without a snapshot. Only the operator can tell what is lost.
    """
    new, old = source_position(event), source_position(previous)
    if event.is_read or previous.is_read or new is None or old is None or new[0] != old[0]:
        return False
    later = int(event.source.get("ts_ms") or 0) - int(previous.source.get("ts_ms") or 0)
    return new[1:] < old[1:] and later > CLOCK_SKEW_MILLISECONDS
