"""Snapshots as events tell of them: which of them reads a whole table, and when it has read the last row."""

from common.debezium.envelope import Event, Snapshot

ENDS_TABLE = {Snapshot.LAST_IN_TABLE, Snapshot.LAST}
BEGINS = {Snapshot.FIRST, Snapshot.FIRST_IN_TABLE}


def snapshot_id(event: Event) -> str | None:
    """Return what all rows of one snapshot share; None for streamed events and rows of an incremental snapshot.

    An incremental snapshot may be filtered, and a chunk of it comes twice after an interruption: it never tells which
    rows the source no longer has.
    """
    if not event.is_read or event.snapshot in {Snapshot.INCREMENTAL, Snapshot.FALSE}:
        return None
    names = ("lsn", "txId") if event.connector == "postgresql" else ("file", "pos")
    return ":".join(str(event.source.get(name)) for name in names)


def ends_table(event: Event) -> bool:
    """True for the last row of a table in a full snapshot: rows that it has not read are no longer in the source.

    A table with one row has this marker alone, and an empty table has no event at all.
    """
    return event.is_read and event.snapshot in ENDS_TABLE
