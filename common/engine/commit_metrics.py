"""Accounting after the commit: what the commit says it did must be what was to be merged."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.errors import CommitMismatch


@dataclass(frozen=True)
class Outcome:
    """The commit's own metrics, and what it had no row to touch for: a newer row stood, or none was there to delete."""

    inserted: int
    updated: int
    deleted: int
    superseded: int
    absent: int


@dataclass(frozen=True)
class FilesTouched:
    """The table's files: in it before the commit, those that the MERGE had to consider, and what it did to them."""

    in_table: int
    candidates: int
    added: int
    removed: int


def outcome(metrics: Mapping[str, str], *, superseded: int, absent: int) -> Outcome:
    def metric(name: str) -> int:
        return int(metrics.get(name, "0"))

    merged = "numTargetRowsInserted" in metrics
    return Outcome(
        inserted=metric("numTargetRowsInserted" if merged else "numOutputRows"),
        updated=metric("numTargetRowsUpdated"),
        deleted=metric("numTargetRowsDeleted"),
        superseded=superseded,
        absent=absent,
    )


def files_touched(metrics: Mapping[str, str], in_table: int, candidates: int | None) -> FilesTouched:
    """Without a bound every file was a candidate, where there was something to merge."""
    merged = "numTargetFilesAdded" in metrics
    return FilesTouched(
        in_table=in_table,
        candidates=candidates if candidates is not None else in_table if merged else 0,
        added=int(metrics.get("numTargetFilesAdded" if merged else "numFiles", "0")),
        removed=int(metrics.get("numTargetFilesRemoved", "0")),
    )


def check_outcome(found: Outcome, to_merge: int) -> None:
    explained = found.inserted + found.updated + found.deleted + found.superseded + found.absent
    if explained != to_merge:
        raise CommitMismatch(
            f"{to_merge} rows were to be merged, the commit explains {explained}: {found.inserted} inserted, "
            f"{found.updated} updated, {found.deleted} deleted, {found.superseded} superseded, {found.absent} absent",
            "the commit stands; compare the table with the topic before going on",
        )
