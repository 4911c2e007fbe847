"""Decide how long removed files are kept, and refuse a VACUUM that would lose something. Nothing is deleted here."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from common.delta.feed_readers import Reader
from common.delta.ledger import TableLog
from common.errors import StateError, UsageError
from common.settings.locations import Location
from common.settings.remedies import again

HOURS = {"h": 1, "d": 24}
HOUR_MS = 3_600_000
# No write phase lasts longer: the files of a commit are at most this much older than the commit.
WRITE_MS = 24 * HOUR_MS


@dataclass(frozen=True)
class Retention:
    """The hours for which a table keeps files that it no longer needs, and the names that the operator forces.

    Delta counts in whole hours.
    """

    own_hours: int
    wanted_hours: int | None = None
    forced: frozenset[str] = frozenset()

    @property
    def hours(self) -> int:
        return self.own_hours if self.wanted_hours is None else self.wanted_hours

    @property
    def is_short(self) -> bool:
        return self.hours < self.own_hours

    @property
    def needs_lock(self) -> bool:
        """True where a commit in flight may have files that are older than the retention."""
        return self.hours * HOUR_MS < WRITE_MS

    def horizon_ms(self, now_ms: int) -> int:
        """Return the time before which removed files are deleted."""
        return now_ms - self.hours * HOUR_MS


def parse_hours(text: str) -> int:
    """Read `36h`, `7d` or `0h`, because Delta counts in whole hours."""
    match = re.fullmatch(r"(?P<number>\d{1,6})(?P<unit>[hd])", text)
    if match is None:
        raise UsageError(f"--retain '{text}' is not understood", "say whole hours or days: 36h, 7d")
    return int(match["number"]) * HOURS[match["unit"]]


def refuse_unsafe(retention: Retention, table: Location) -> None:
    """Refuse a retention that could delete files in use.

    Time travel and the change feed need files that the newest version no longer has. A commit in flight needs files
    that no version has yet.
    """
    if retention.hours > retention.own_hours:
        raise UsageError(
            f"--retain {retention.hours}h is more than the {retention.own_hours}h of {table}: Delta has forgotten by "
            "then when a file was removed",
            "set delta.deletedFileRetentionDuration of the table instead",
        )
    if retention.is_short and table.name not in retention.forced:
        raise UsageError(
            f"--retain {retention.hours}h is less than the {retention.own_hours}h for which {table} keeps files: "
            "readers and time travel would miss them",
            f"leave --retain out, or insist with {again('--force', table.name)}",
        )
    if table.local is None and retention.needs_lock:
        raise UsageError(
            f"no lock on the file system of {table}: --retain {retention.hours}h could delete what is being written",
            f"retain {WRITE_MS // HOUR_MS}h at least",
        )


def refuse_unread(log: TableLog, readers: Sequence[Reader], horizon_ms: int, forced: Collection[str]) -> None:
    """Refuse while a reader of the change feed needs the files: those of every version after its own."""
    for reader in readers:
        needed = unread_since_ms(log, reader)
        if reader.name not in forced and (needed is None or needed < horizon_ms):
            raise StateError(
                f"reader '{reader.name}' has read up to version {reader.version} of {log.version()}, and files of the "
                "versions after it would be deleted",
                f"let it catch up, delete _alluvium/readers/{reader.name}.json if it is gone for good, or insist with "
                f"{again('--force', reader.name)}",
            )


def unread_since_ms(log: TableLog, reader: Reader) -> float | None:
    """Return the earliest time at which a file of an unread version was written.

    Such a file was written after the last commit that the reader has read, and not long before its own commit. It is
    infinity where all is read, and None where the log no longer says.
    """
    if reader.version >= log.version():
        return float("inf")
    read, unread = log.read(reader.version), log.read(reader.version + 1)
    if unread is None:
        return None
    began = int(unread.info["timestamp"]) - WRITE_MS
    return began if read is None else max(began, int(read.info["timestamp"]))
