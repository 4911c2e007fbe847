"""The ways to commit a batch, which give the same table: Delta's MERGE, a commit of our own, or nothing but a position.

Each is prepared first, which tells what it will do, and commits nothing before it is told to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa
import structlog
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import types as T

from common.delta.candidate_files import CandidateFiles, find_candidate_files
from common.delta.file_skipping import File
from common.delta.format.table_features import UnsupportedTable
from common.delta.pruning import PruneBound, condition_of
from common.delta.transaction import DirectTransaction
from common.engine.accounting import unbalanced
from common.errors import first_line
from common.merge.alignment import Alignment, align
from common.merge.changes import Changes
from common.merge.delta_merge import MergeSpec, count_absent, count_superseded, merge_latest, merge_spec
from common.merge.driver_rewrite import driver_rewrite
from common.merge.spark_rewrite import (
    ABSENT,
    ACTIONS,
    COPY,
    DELETE,
    INSERT,
    SUPERSEDED,
    UPDATE,
    RewrittenRows,
    added,
    rewritten_rows,
)
from common.model.position import Stamp
from common.rules.compare import CONVERSION_ERRORS
from common.settings.locations import Location
from common.settings.pipeline import POSITION, Pipeline
from common.spark.small_queries import FEW_RECORDS, small_query_conf

log = structlog.get_logger()


@dataclass(frozen=True)
class MergeForecast:
    """What the table held for the batch: files that it might touch, and changes that find nothing to do, because a
    newer row stands or none is there to delete. Without bounds every file is a candidate: `candidates` is None."""

    candidates: int | None
    superseded: int
    absent: int


class PreparedMerge(Protocol):
    """One way to commit a batch."""

    @property
    def forecast(self) -> MergeForecast: ...

    def commit(self, stamp: Stamp) -> None: ...


class PreparedDeltaMerge:
    """Delta's own MERGE, bounded where there are bounds."""

    def __init__(
        self, table: DeltaTable, changes: DataFrame, spec: MergeSpec, pipeline: Pipeline, bound: Column | None
    ) -> None:
        self._table, self._changes, self._upsert, self._bound = table, changes, spec, bound
        rows = table.toDF() if bound is None else table.alias("t").toDF().where(bound)
        self.forecast = MergeForecast(
            candidates=None if bound is None else len(rows.inputFiles()),
            superseded=count_superseded(rows, changes, spec.keys, pipeline.target.sequence),
            absent=count_absent(rows, changes, spec.keys) if spec.deletes else 0,
        )

    def commit(self, stamp: Stamp) -> None:  # noqa: ARG002  it rides in the session's settings
        merge_latest(self._table, self._changes, self._upsert, self._bound)


@dataclass(frozen=True)
class NewFiles:
    """New files of which nobody knows yet: how many rows stand in them, how many of these are only copied, what the
    changes did, and the candidates that the new files replace."""

    rows: int
    copied: int
    actions: Mapping[str, int]
    replaced: Sequence[File]


class PreparedRewrite:
    """New files instead of the candidates, or beside the others where there are none, in a commit of our own."""

    def __init__(self, found: CandidateFiles, new_files: NewFiles, *, to_merge: int) -> None:
        self._transaction, self._made = found.transaction, new_files
        stay = new_files.copied + new_files.actions[INSERT] + new_files.actions[UPDATE]
        if new_files.rows != stay:
            raise unbalanced(f"{stay} rows were to be written, {new_files.rows} were found")
        explained = sum(new_files.actions.values())
        if explained != to_merge:
            raise unbalanced(f"{to_merge} rows were to be merged, {explained} found what to do")
        self._is_append = not found.files
        self.forecast = MergeForecast(len(found.files), new_files.actions[SUPERSEDED], new_files.actions[ABSENT])

    def commit(self, stamp: Stamp) -> None:
        self._transaction.commit(stamp, self._made.replaced, None if self._is_append else self._metrics())

    def _metrics(self) -> dict[str, int]:
        actions, removed = self._made.actions, self._made.replaced
        return {
            "operationNumSourceRows": sum(actions.values()),
            "numTargetRowsInserted": actions[INSERT],
            "numTargetRowsUpdated": actions[UPDATE],
            "numTargetRowsDeleted": actions[DELETE],
            "numTargetRowsCopied": self._made.copied,
            "numTargetFilesRemoved": len(removed),
            "numTargetFilesAdded": self._transaction.files_written,
            "numTargetBytesRemoved": sum(file.size for file in removed),
            "numTargetBytesAdded": self._transaction.bytes_written,
        }


def rewrite_in_spark(found: CandidateFiles, changes: DataFrame, spec: MergeSpec, *, to_merge: int) -> NewFiles:
    """One job, which rewrites all candidates."""
    with small_query_conf(changes.sparkSession, to_merge, found.rows):
        result = joined(found, changes, spec, is_small=found.is_small and to_merge <= FEW_RECORDS)
        rows = found.transaction.write(result.rows)
    counts = result.counts()
    copied = counts.pop(COPY) + counts[SUPERSEDED]
    return NewFiles(rows, copied, counts, found.files)


def joined(found: CandidateFiles, changes: DataFrame, spec: MergeSpec, *, is_small: bool) -> RewrittenRows:
    """A little is joined and written by one task, and becomes one file for each partition of the table."""
    if not found.files:
        return added(changes.coalesce(1) if is_small else changes, spec)
    stand = found.transaction.read(found.files)
    if not is_small:
        return rewritten_rows(stand, changes, spec)
    # Few changes fit into a hash table; for a merge join the files would have to be sorted.
    return rewritten_rows(stand.coalesce(1), changes.coalesce(1).hint("shuffle_hash"), spec)


def rewrite_in_driver(
    found: CandidateFiles, folder: Path, changes: pa.Table, spec: MergeSpec, sequence: str | None
) -> NewFiles | None:
    """Without a job; None where Spark has to do it, whatever the reason: it meets what is wrong in its own way."""
    try:
        table = found.transaction.writable_table()
        result = driver_rewrite(folder, table, found.files, changes, spec, sequence)
    except (UnsupportedTable, OSError, RuntimeError, MemoryError, *CONVERSION_ERRORS) as error:
        log.info("Spark writes this batch", reason=first_line(error))
        return None
    actions = {action: result.actions.get(action, 0) for action in ACTIONS if action != COPY}
    return NewFiles(found.transaction.adopt(result.written), result.copied, actions, result.replaced)


class PreparedPositionOnly:
    """Nothing to merge: a commit that moves the position."""

    def __init__(self, transaction: DirectTransaction) -> None:
        self._transaction = transaction
        self.forecast = MergeForecast(candidates=0, superseded=0, absent=0)

    def commit(self, stamp: Stamp) -> None:
        self._transaction.commit(stamp, [], None)


@dataclass(frozen=True)
class MergeRequest:
    """One batch to commit: its changes, one row a key, and where they belong."""

    spark: SparkSession
    table: Location
    pipeline: Pipeline
    changes: Changes
    to_merge: int
    bounds: Sequence[PruneBound]
    stamp: Stamp

    def prepare(self) -> PreparedMerge:
        """By the cheapest way that the table allows, on its newest version."""
        spark, path = self.spark, self.table.uri
        if not self.to_merge:
            return PreparedPositionOnly(self._fenced(DirectTransaction(spark, path)))
        transaction = DirectTransaction(spark, path)
        aligned = self._aligned(transaction.schema)
        changes, bounds = self.changes.aligned(aligned), aligned.bounds(self.bounds)
        spec = merge_spec(self.pipeline, aligned)
        if aligned.only_merge is not None:
            log.info("Spark writes this batch", reason=aligned.only_merge)
        found = None if aligned.only_merge else find_candidate_files(spark, path, bounds, transaction)
        if found is not None and found.is_direct(changes.schema):
            self._fenced(found.transaction)
            return PreparedRewrite(found, self._made(found, changes, spec, aligned), to_merge=self.to_merge)
        table = DeltaTable.forPath(spark, path)
        return PreparedDeltaMerge(table, changes.frame, spec, self.pipeline, condition_of(bounds))

    def _aligned(self, table: T.StructType) -> Alignment:
        return align(self.changes.schema, table, undeclared=self.pipeline.target.schema_changes.undeclared)

    def _made(self, found: CandidateFiles, changes: Changes, spec: MergeSpec, aligned: Alignment) -> NewFiles:
        new_files, folder, arrow = None, self.table.local, changes.arrow
        if folder is not None and arrow is not None and found.fits_driver:
            sequence = self.pipeline.target.sequence
            sequence_or_none = None if sequence == POSITION else aligned.name(sequence)
            new_files = rewrite_in_driver(found, folder, arrow, spec, sequence_or_none)
        return new_files or rewrite_in_spark(found, changes.frame, spec, to_merge=self.to_merge)

    def _fenced(self, transaction: DirectTransaction) -> DirectTransaction:
        """Where a lock keeps rivals out there is no need for it; elsewhere it costs what it costs."""
        if self.table.local is None:
            transaction.fence(self.stamp)
        return transaction
