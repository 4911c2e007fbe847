"""Account after the commit: its metrics must explain every row to merge."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.errors import CommitMismatch


@dataclass(frozen=True)
class Outcome:
    """The commit metrics, with the changes that touched no row: superseded by a newer row, or absent."""

    inserted: int
    updated: int
    deleted: int
    superseded: int
    absent: int


@dataclass(frozen=True)
class FilesTouched:
    """Numbers of files: in the table before the commit, candidates of the merge, added and removed by it."""

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
    """Count the files by a commit's metrics. A MERGE without prune bounds has every file as a candidate."""
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
