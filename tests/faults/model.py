"""What the table and its side tables must hold: a plain-Python model of the topic, without code of the engine."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from deltalake import DeltaTable

Row = tuple[int, str, int, float]
Place = tuple[int, int]


@dataclass(frozen=True)
class Record:
    """A record as the topic holds it."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    time: datetime

    @property
    def place(self) -> Place:
        return self.partition, self.offset


@dataclass
class Expectation:
    """The table by key, and who stands beside it by place."""

    rows: dict[int, Row] = field(default_factory=dict)
    quarantined: dict[Place, str] = field(default_factory=dict)
    late: set[Place] = field(default_factory=set)


def expected(base: Iterable[Row], records: Iterable[Record], *, by_position: bool) -> Expectation:
    """Each record by itself: of a key the greatest version remains; by position the last, and a null value deletes."""
    found = Expectation({row[0]: row for row in base})
    for record in sorted(records, key=lambda each: each.place):
        if record.value is None:
            if by_position:
                bury(found, record)
            continue
        reason, event = judged(record.value, by_position=by_position)
        if reason is None and event is not None:
            reason = wrong_time(event.get("at"), record.time)
        if reason == "LATE":
            found.late.add(record.place)
        elif reason is not None:
            found.quarantined[record.place] = reason
        elif event is not None:
            row = (event["id"], event["part"], event["version"], event["degrees"])
            if by_position or row[0] not in found.rows or found.rows[row[0]][2] < row[2]:
                found.rows[row[0]] = row
    return found


def bury(found: Expectation, record: Record) -> None:
    try:
        found.rows.pop(json.loads(record.key or b"")["id"], None)
    except ValueError:
        found.quarantined[record.place] = "BAD_KEY"


def judged(value: bytes, *, by_position: bool) -> tuple[str | None, dict | None]:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return "NOT_UTF8", None
    try:
        event = json.loads(text)
    except ValueError:
        return "NOT_JSON", None
    return judged_event(event, by_position=by_position) if isinstance(event, dict) else ("NOT_AN_OBJECT", None)


def judged_event(event: dict, *, by_position: bool) -> tuple[str | None, dict | None]:
    if not isinstance(event.get("id"), int | None):
        return "WRONG_TYPE", None
    if event.get("id") is None:
        return "NULL_KEY", None
    if event.get("version") is None and not by_position:
        return "NULL_SEQUENCE", None
    return ("RULE_plausible", None) if event["degrees"] >= 100 else (None, event)


def wrong_time(at: str | None, arrived: datetime) -> str | None:
    if at is None:
        return "NO_TIME"
    behind = arrived - datetime.fromisoformat(at)
    if behind < -timedelta(hours=1):
        return "FUTURE"
    return "LATE" if behind > timedelta(days=1) else None


@dataclass(frozen=True)
class Difference:
    """How far the tables are from the model. All zero, or the engine has lost its promise."""

    lost: int
    doubled: int
    stale: int
    strange: int

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def __str__(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in vars(self).items())


@dataclass(frozen=True)
class Committed:
    """Where the table says that it stands: its newest transaction, and the offsets up to which it has read."""

    seq: int
    offsets: dict[int, int]

    def covers(self, record: Record) -> bool:
        return record.offset < self.offsets.get(record.partition, 0)


def committed(table: Path) -> Committed:
    """From the newest entry of the log that carries a position; no code of the engine, no Spark."""
    for entry in sorted((table / "_delta_log").glob("*.json"), reverse=True):
        for line in entry.read_text().splitlines():
            metadata = json.loads(line).get("commitInfo", {}).get("userMetadata")
            if metadata is not None:
                position = json.loads(metadata)
                return Committed(position["seq"], {int(key): offset for key, offset in position["offsets"].items()})
    raise AssertionError(f"{table} has no position")


def compare(wanted: Expectation, table: Path, up_to: int) -> Difference:
    """The tables as delta-rs reads them, against the model. Beside the table, rows of later transactions than the
    table's own are provisional, and do not count."""
    rows = Counter(read_rows(table))
    quarantined = Counter(read_beside(table, "_quarantine", ["partition", "offset", "reason"], up_to))
    late = Counter(read_beside(table, "_late", ["partition", "offset"], up_to))
    found = {row[0]: row for row in rows}
    beside = [
        (quarantined, Counter((*place, reason) for place, reason in wanted.quarantined.items())),
        (late, Counter(wanted.late)),
    ]
    stale = sum(1 for key, row in found.items() if key in wanted.rows and row != wanted.rows[key])
    return Difference(
        lost=len(wanted.rows.keys() - found.keys()) + sum(sum((want - have).values()) for have, want in beside),
        doubled=sum(rows.values()) - len(found) + sum(sum(have.values()) - len(have) for have, _ in beside),
        stale=stale,
        strange=len(found.keys() - wanted.rows.keys()) + sum(len(have.keys() - want.keys()) for have, want in beside),
    )


def read_rows(table: Path) -> list[Row]:
    return read(table, ["id", "part", "version", "degrees"])


def read_beside(table: Path, suffix: str, columns: list[str], up_to: int) -> list[tuple]:
    path = table.with_name(table.name + suffix)
    if not any((path / "_delta_log").glob("*.json")):
        return []
    return [row[:-1] for row in read(path, [*columns, "seq"]) if row[-1] <= up_to]


def read(table: Path, columns: list[str]) -> list[tuple]:
    return [tuple(row.values()) for row in DeltaTable(table).to_pyarrow_table(columns=columns).to_pylist()]
