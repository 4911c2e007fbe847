"""The write phase of a batch: side tables first, the table last, in one transaction that carries the position."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import structlog
from delta.exceptions import (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
from delta.tables import DeltaTable
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta.candidate_files import rows_outside_bounds
from common.delta.deleted_keys import record_deleted
from common.delta.ledger import Ledger
from common.delta.lineage import LINEAGE, lineage_of
from common.delta.lock import commit_lock
from common.delta.open_ledger import transaction
from common.delta.pruning import PruneBound
from common.delta.side_tables import (
    LATE_TABLE,
    QUARANTINE_TABLE,
    append_late,
    append_quarantined,
    delete_uncommitted,
    rows_appended,
)
from common.engine.accounting import unbalanced
from common.engine.commit_metrics import FilesTouched, Outcome, check_outcome, files_touched, outcome
from common.engine.key_uniqueness import key_of
from common.engine.materialized_batch import MaterializedBatch
from common.engine.stage_timer import StageTimer
from common.engine.table_fit import TableFit
from common.errors import AlluviumError, StateError
from common.faults import fault_point
from common.merge.changes import Changes
from common.merge.strategies import MergeForecast, MergeRequest, PreparedMerge
from common.model.position import Position
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.spark.validate.disposition import DISPOSITION, FOLDED, LATE, MERGE, QUARANTINED

log = structlog.get_logger()
ATTEMPTS = 6
FIRST_PAUSE_SECONDS = 0.5
# Each on its own: in Python they have no base class in common. ConcurrentTransactionException is missing on purpose: it
# says that a rival has committed this very transaction.
CONFLICTS = (
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)


@dataclass(frozen=True)
class PendingTransaction:
    """One transaction to come: where the table stands, and where it will."""

    fit: TableFit
    table: Location
    before: Position
    after: Position
    check_pruning: bool = False

    @property
    def pipeline(self) -> Pipeline:
        return self.fit.pipeline


@dataclass(frozen=True)
class ReconciledBatch:
    """A batch of which every row is explained: all of them with their fates, what the MERGE gets of them, and where in
    the table that can be."""

    judged: MaterializedBatch
    changes: Changes
    dispositions: dict[str, int]
    bounds: Sequence[PruneBound]

    @property
    def to_merge(self) -> int:
        return self.dispositions[MERGE]


@dataclass(frozen=True)
class Committed:
    """What a commit did, by its own metrics: to the rows, and to the files."""

    outcome: Outcome
    files: FilesTouched


def commit(
    spark: SparkSession, pending: PendingTransaction, ledger: Ledger, batch: ReconciledBatch, times: StageTimer
) -> Committed:
    """Side tables first, the table last: its commit is the moment at which the batch has happened."""
    with commit_lock(pending.table), side_tables_written(spark, pending, ledger, batch, times):
        files = ledger.files()
        with times.stage("merge"):
            forecast = commit_with_retries(spark, pending, ledger, batch)
    fault_point("committed")
    with times.stage("check"):
        metrics = ledger.metrics(pending.after)
        found = outcome(metrics, superseded=forecast.superseded, absent=forecast.absent)
        check_outcome(found, batch.to_merge)
    return Committed(found, files_touched(metrics, files, forecast.candidates))


@contextmanager
def side_tables_written(
    spark: SparkSession, pending: PendingTransaction, ledger: Ledger, batch: ReconciledBatch, times: StageTimer
) -> Iterator[None]:
    """What belongs beside the table stands there while the commit is tried, and goes again if that fails."""
    writes = side_writes(pending, ledger, batch)
    if not writes:
        yield
        return
    # Not only before the commit: beside the table, rows under a rival's number could not be told from the rival's own.
    refuse_moved(ledger, pending.before)
    with undone_on_failure(spark, pending.table, ledger):
        with times.stage("beside"):
            for write in writes:
                write()
        yield


@contextmanager
def undone_on_failure(spark: SparkSession, table: Location, ledger: Ledger) -> Iterator[None]:
    """What was written beside the table goes again. If even that fails, the next start does it."""
    try:
        yield
    except (AlluviumError, PySparkException, Py4JError):
        try:
            delete_uncommitted(spark, table.uri, ledger)
        except (PySparkException, Py4JError):
            log.warning("rows of a failed batch remain beside the table until the next start")
        raise


def side_writes(pending: PendingTransaction, ledger: Ledger, batch: ReconciledBatch) -> list[Callable[[], None]]:
    """In their order. Mostly none: nothing is turned away, and nothing deleted."""
    late, dispositions = pending.pipeline.late, batch.dispositions
    writes: list[Callable[[], None]] = []
    if pending.pipeline.deletes and dispositions[MERGE]:
        writes.append(lambda: record_tombstones(pending, ledger, batch.judged.rows))
    if dispositions[QUARANTINED]:
        writes.append(lambda: quarantine(pending, ledger, batch.judged.rows, dispositions[QUARANTINED]))
    if dispositions[LATE] and late is not None and late.action == "keep":
        writes.append(lambda: keep_late(pending, ledger, batch.judged.rows, dispositions[LATE]))
    return writes


def quarantine(pending: PendingTransaction, ledger: Ledger, judged: DataFrame, count: int) -> None:
    fault_point("quarantine")
    append_quarantined(judged, pending.table.uri, pending.after, ledger.table_id())
    verify_side_table(judged.sparkSession, f"{pending.table.uri}{QUARANTINE_TABLE}", pending.after, count)
    fault_point("quarantined")


def keep_late(pending: PendingTransaction, ledger: Ledger, judged: DataFrame, count: int) -> None:
    append_late(judged, pending.table.uri, pending.after, ledger.table_id(), pending.pipeline.columns)
    verify_side_table(judged.sparkSession, f"{pending.table.uri}{LATE_TABLE}", pending.after, count)
    fault_point("late")


def verify_side_table(spark: SparkSession, path: str, position: Position, wanted: int) -> None:
    """From the side table's own log, while nothing is committed yet: every row that was turned away is there, once."""
    written = rows_appended(spark, path, position)
    if written != wanted:
        raise unbalanced(f"{wanted} rows were to stand in {path}, its log says {written}")


def record_tombstones(pending: PendingTransaction, ledger: Ledger, judged: DataFrame) -> None:
    """Every tombstone, also one that a newer event of its batch brought back: an older event is older than both."""
    traced = judged.where(F.col(DISPOSITION).isin(MERGE, FOLDED)).withColumn(LINEAGE, lineage_of(pending.after))
    record_deleted(traced, pending.table.uri, ledger.table_id(), pending.pipeline.name, pending.pipeline.target.keys)
    fault_point("forgotten")


def refuse_rows_outside_bounds(task: MergeRequest) -> None:
    """The proof that pruned and unpruned give the same table, on the user's own data: no row with a key of the batch
    lies outside of its bounds. It reads the whole table."""
    keys = task.pipeline.target.keys
    table = DeltaTable.forPath(task.spark, task.table.uri)
    for row in rows_outside_bounds(table, task.changes.frame, keys, task.bounds).limit(1).collect():
        raise StateError(
            f"key {key_of(row, keys)} has a row outside of its batch's bounds: "
            "a column of target.prune_by has changed for it",
            "nothing was committed; take that column out of target.immutable and target.prune_by",
        )


def commit_with_retries(
    spark: SparkSession, pending: PendingTransaction, ledger: Ledger, batch: ReconciledBatch
) -> MergeForecast:
    """The same rows until they are in, or until it is clear that they cannot be. Gives what the table held for them."""
    task = MergeRequest(
        spark, pending.table, pending.pipeline, batch.changes, batch.to_merge, batch.bounds, pending.after
    )
    for attempt in range(1, ATTEMPTS + 1):
        refuse_moved(ledger, pending.before)
        pending.fit.ensure(spark)
        if pending.check_pruning and batch.bounds:
            refuse_rows_outside_bounds(task)
        fault_point("merge")
        try:
            # Anew for each attempt: what a rival has written meanwhile may hold a key of the batch.
            way = task.prepare()
            write(way, spark, pending.after)
        except (PySparkException, Py4JError) as error:
            if ledger.has(pending.after):
                log.warning("the commit had landed although its answer was lost", seq=pending.after.seq)
                return way.forecast
            if attempt == ATTEMPTS or not isinstance(error, CONFLICTS):
                # A rival is the better error; Delta's own says only that somebody was faster.
                refuse_moved(ledger, pending.before)
                raise
            log.warning("another writer was faster, trying again", attempt=attempt, conflict=type(error).__name__)
            time.sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        else:
            return way.forecast
    raise AssertionError("the last attempt returns or raises")


def refuse_moved(ledger: Ledger, position: Position) -> None:
    """A rival run, a RESTORE or an overwrite since this run began: what it knows of the table is no longer true."""
    found = ledger.position()
    if found != position:
        raise StateError(
            f"the table's position moved to epoch {found.epoch}, transaction {found.seq} while this job ran",
            "run one job a table; start this one again, it goes on from the table",
        )


def write(way: PreparedMerge, spark: SparkSession, stamp: Position) -> None:
    """The transaction is set anew for each attempt: Delta may have cleared it before the commit failed."""
    with transaction(spark, stamp):
        way.commit(stamp)
