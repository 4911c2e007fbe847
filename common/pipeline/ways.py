"""The ways to commit a batch, which give the same table: Delta's MERGE, a commit of our own, or nothing but a position.

Each is prepared first, which tells what it will do, and commits nothing before it is told to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from delta.tables import DeltaTable
from pyspark.sql import DataFrame

from common.account.tally import unbalanced
from common.ledger.position import Stamp
from common.merge.bounds import Bound, sql_of
from common.merge.reach import Reach, reach
from common.merge.rewrite import ABSENT, COPY, DELETE, INSERT, SUPERSEDED, UPDATE, Rewritten, added, rewritten
from common.merge.transaction import DirectTransaction
from common.merge.upsert import Upsert, count_absent, count_superseded, merge_latest, upsert_of
from common.pipeline.few import FEW_RECORDS, planned_for
from common.settings.locations import Location
from common.settings.pipeline import Pipeline


@dataclass(frozen=True)
class Prospect:
    """What the table held for the batch: files that it might touch, and changes that find nothing to do, because a
    newer row stands or none is there to delete. Without bounds every file is a candidate: `candidates` is None."""

    candidates: int | None
    superseded: int
    absent: int


class Way(Protocol):
    """One way to commit a batch."""

    @property
    def prospect(self) -> Prospect: ...

    def commit(self, stamp: Stamp) -> None: ...


class ByMerge:
    """Delta's own MERGE, bounded where there are bounds."""

    def __init__(
        self, table: DeltaTable, changes: DataFrame, upsert: Upsert, pipeline: Pipeline, bound: str | None
    ) -> None:
        self._table, self._changes, self._upsert, self._bound = table, changes, upsert, bound
        rows = table.toDF() if bound is None else table.alias("t").toDF().where(bound)
        self.prospect = Prospect(
            candidates=None if bound is None else len(rows.inputFiles()),
            superseded=count_superseded(rows, changes, upsert.keys, pipeline.target.sequence),
            absent=count_absent(rows, changes, upsert.keys) if upsert.deletes else 0,
        )

    def commit(self, stamp: Stamp) -> None:  # noqa: ARG002  it rides in the session's settings
        merge_latest(self._table, self._changes, self._upsert, self._bound)


class Directly:
    """One job that rewrites the candidate files, or appends where there are none, and a commit of our own."""

    def __init__(self, found: Reach, changes: DataFrame, upsert: Upsert, *, to_merge: int) -> None:
        self._found = found
        with planned_for(changes.sparkSession, to_merge, found.rows):
            result = self._result(changes, upsert, is_small=found.is_small and to_merge <= FEW_RECORDS)
            written = found.transaction.write(result.rows)
        self._counts = counts = result.counts()
        stay = counts[COPY] + counts[INSERT] + counts[UPDATE] + counts[SUPERSEDED]
        if written != stay:
            raise unbalanced(f"{stay} rows were to be written, Delta has counted {written}")
        explained = sum(counts.values()) - counts[COPY]
        if explained != to_merge:
            raise unbalanced(f"{to_merge} rows were to be merged, {explained} found what to do")
        self.prospect = Prospect(len(found.files), superseded=counts[SUPERSEDED], absent=counts[ABSENT])

    def _result(self, changes: DataFrame, upsert: Upsert, *, is_small: bool) -> Rewritten:
        """A little is joined and written by one task, and becomes one file for each partition of the table."""
        if not self._found.files:
            return added(changes.coalesce(1) if is_small else changes, upsert)
        stand = self._found.transaction.read(self._found.files)
        if not is_small:
            return rewritten(stand, changes, upsert)
        # Few changes fit into a hash table; for a merge join the files would have to be sorted.
        return rewritten(stand.coalesce(1), changes.coalesce(1).hint("shuffle_hash"), upsert)

    def commit(self, stamp: Stamp) -> None:
        self._found.transaction.commit(stamp, self._found.files, self._metrics() if self._found.files else None)

    def _metrics(self) -> dict[str, int]:
        counts, removed = self._counts, self._found.files
        return {
            "operationNumSourceRows": sum(counts.values()) - counts[COPY],
            "numTargetRowsInserted": counts[INSERT],
            "numTargetRowsUpdated": counts[UPDATE],
            "numTargetRowsDeleted": counts[DELETE],
            "numTargetRowsCopied": counts[COPY] + counts[SUPERSEDED],
            "numTargetFilesRemoved": len(removed),
            "numTargetFilesAdded": self._found.transaction.files_written,
            "numTargetBytesRemoved": sum(file.size for file in removed),
            "numTargetBytesAdded": self._found.transaction.bytes_written,
        }


class OnlyPosition:
    """Nothing to merge: a commit that moves the position."""

    def __init__(self, transaction: DirectTransaction) -> None:
        self._transaction = transaction
        self.prospect = Prospect(candidates=0, superseded=0, absent=0)

    def commit(self, stamp: Stamp) -> None:
        self._transaction.commit(stamp, [], None)


@dataclass(frozen=True)
class Task:
    """One batch to commit: its changes, one row a key, and where they belong."""

    table: Location
    pipeline: Pipeline
    changes: DataFrame
    to_merge: int
    bounds: Sequence[Bound]
    stamp: Stamp

    def prepare(self) -> Way:
        """By the cheapest way that the table allows, on its newest version."""
        spark, path = self.changes.sparkSession, self.table.uri
        if not self.to_merge:
            return OnlyPosition(self._fenced(DirectTransaction(spark, path)))
        upsert, found = upsert_of(self.pipeline), reach(spark, path, self.bounds)
        if found is not None and found.is_direct(self.changes):
            self._fenced(found.transaction)
            return Directly(found, self.changes, upsert, to_merge=self.to_merge)
        table = DeltaTable.forPath(spark, path)
        return ByMerge(table, self.changes, upsert, self.pipeline, sql_of(self.bounds) or None)

    def _fenced(self, transaction: DirectTransaction) -> DirectTransaction:
        """Where a lock keeps rivals out there is no need for it; elsewhere it costs what it costs."""
        if self.table.local is None:
            transaction.fence(self.stamp)
        return transaction
