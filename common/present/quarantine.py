"""Print for a person what waits in quarantine, and what became of the rest."""

from datetime import UTC, datetime

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from common.delta.quarantine import Quarantine
from common.settings.locations import Location

WIDTH = 100
HEADINGS = ("reason", "state", "rows", "first", "at", "last", "at")


def print_summary(quarantine: Quarantine, table: Location) -> None:
    """Print rows by reason and state, with the first and the last of each: partition:offset and the record's time."""
    place = F.struct("timestamp", "partition", "offset")
    groups = (
        quarantine.rows()
        .groupBy("reason", "state")
        .agg(F.count("*").alias("rows"), F.min(place).alias("first"), F.max(place).alias("last"))
        .orderBy("reason", "state")
        .collect()
    )
    if groups:
        print_columns([HEADINGS, *(summary(group) for group in groups)])
    else:
        print(f"Nothing is in quarantine for {table}")
    if others := quarantine.of_other_tables():
        print(f"{others} rows of an earlier table at this path are left out.")


def summary(group: Row) -> tuple[str, ...]:
    ends = [text for end in (group["first"], group["last"]) for text in (where(end), when(end["timestamp"]))]
    return (group["reason"], group["state"], str(group["rows"]), *ends)


def print_columns(lines: list[tuple[str, ...]]) -> None:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def print_records(rows: DataFrame, count: int, limit: int, *, full: bool) -> None:
    for row in rows.orderBy("timestamp", "partition", "offset").limit(limit).collect():
        print_record(row, None if full else WIDTH)
    if count > limit:
        print(f"{count - limit} more; --limit {count} shows all")


def print_record(row: Row, width: int | None) -> None:
    state = row["state"] if row["replay"] is None else f"{row['state']} by replay {row['replay']}"
    print(f"{where(row)}  {when(row['timestamp'])}  {row['reason']}  {state}")
    print(f"  message  {cut(printable(row['message']), width)}")
    for name in ("key", "value"):
        print(f"  {name:<7}  {shown_bytes(row[name], width)}")


def shown_bytes(content: bytearray | None, width: int | None) -> str:
    """Show bytes as Python writes them, so that nothing in a record reaches the terminal as a command to it."""
    if content is None:
        return "none"
    text = repr(bytes(content if width is None else content[: width + 1]))
    return text if width is None or len(text) <= width else f"{text[:width]}… ({len(content)} bytes)"


def printable(text: str) -> str:
    """Escape what is not printable, because a message may quote names that came with the record."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)


def cut(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else f"{text[:width]}…"


def where(place: Row) -> str:
    return f"{place['partition']}:{place['offset']}"


def when(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
