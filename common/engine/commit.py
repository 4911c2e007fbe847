"""Write a batch: side tables first, the table last, in one transaction that carries the position."""

import time
from collections.abc import Callable, Iterator, Mapping
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

from common.delta.deleted_keys import record_deleted
from common.delta.ledger import Ledger, TableState
from common.delta.lineage import lineage_of
from common.delta.lock import commit_lock
from common.delta.open_ledger import transaction
from common.delta.side_tables import (
    LATE_TABLE,
    QUARANTINE_TABLE,
    append_late,
    append_quarantined,
    delete_uncommitted,
    rows_appended,
)
from common.engine.accounts import ReconciledBatch
from common.engine.commit_metrics import FilesTouched, Outcome, check_outcome, files_touched, outcome
from common.engine.context import BatchContext
from common.engine.stage_timer import StageTimer
from common.errors import AlluviumError, StateError, unbalanced
from common.faults import fault_point
from common.merge.delta_merge import same_key
from common.merge.request import MergeRequest, begin_merge
from common.merge.strategies import ChosenMerge, choose_strategy
from common.merge.strategy import PreparedMerge
from common.model.disposition import DISPOSITION, FOLDED, LATE, MERGE, QUARANTINED
from common.model.merge_spec import LINEAGE
from common.model.position import Position
from common.rules.key_uniqueness import key_of
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.spark.pruning import prune_condition

log = structlog.get_logger()
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

    spark: SparkSession
    context: BatchContext
    ledger: Ledger
    before: Position
    after: Position

    @property
    def pipeline(self) -> Pipeline:
        return self.context.pipeline

    @property
    def table(self) -> Location:
        return self.context.table


@dataclass(frozen=True)
class Committed:
    """What a commit did, by its own metrics, to the rows and to the files; and which strategy did it, with the reasons
    of those that declined."""

    outcome: Outcome
    files: FilesTouched
    strategy: str
    declined: Mapping[str, str]


def commit(pending: PendingTransaction, batch: ReconciledBatch, times: StageTimer) -> Committed:
    """Side tables first, the table last: its commit is the moment at which the batch has happened."""
    ledger = pending.ledger
    with commit_lock(pending.table), side_tables_written(pending, batch, times), times.stage("merge"):
        chosen, state = commit_with_retries(pending, batch)
    fault_point("committed")
    forecast = chosen.prepared.forecast
    with times.stage("check"):
        metrics = ledger.metrics(pending.after)
        done = outcome(metrics, superseded=forecast.superseded, absent=forecast.absent)
        check_outcome(done, batch.to_merge)
    touched = files_touched(metrics, state.files, forecast.candidates)
    return Committed(done, touched, chosen.strategy, chosen.declined)


@contextmanager
def side_tables_written(pending: PendingTransaction, batch: ReconciledBatch, times: StageTimer) -> Iterator[None]:
    """What belongs beside the table stands there while the commit is tried, and goes again if that fails."""
    writes = side_writes(pending, batch)
    if not writes:
        yield
        return
    # Not only before the commit: beside the table, rows under a rival's number could not be told from the rival's own.
    refuse_moved(pending.ledger, pending.before)
    with undone_on_failure(pending):
        with times.stage("beside"):
            for write in writes:
                write()
        yield


@contextmanager
def undone_on_failure(pending: PendingTransaction) -> Iterator[None]:
    """What was written beside the table goes again. If even that fails, the next start does it."""
    try:
        yield
    except (AlluviumError, PySparkException, Py4JError):
        try:
            delete_uncommitted(pending.spark, pending.table.uri, pending.ledger)
        except (PySparkException, Py4JError):
            log.warning("rows of a failed batch remain beside the table until the next start")
        raise


def side_writes(pending: PendingTransaction, batch: ReconciledBatch) -> list[Callable[[], None]]:
    """In their order. Mostly none: nothing is turned away, and nothing deleted."""
    late, dispositions = pending.pipeline.late, batch.dispositions
    writes: list[Callable[[], None]] = []
    if pending.pipeline.deletes and dispositions[MERGE]:
        writes.append(lambda: record_tombstones(pending, batch.rows.rows))
    if dispositions[QUARANTINED]:
        writes.append(lambda: quarantine(pending, batch.rows.rows, dispositions[QUARANTINED]))
    if dispositions[LATE] and late is not None and late.action == "keep":
        writes.append(lambda: keep_late(pending, batch.rows.rows, dispositions[LATE]))
    return writes


def quarantine(pending: PendingTransaction, rows: DataFrame, count: int) -> None:
    fault_point("quarantine")
    append_quarantined(rows, pending.table.uri, pending.after, pending.ledger.table_id())
    verify_side_table(pending, QUARANTINE_TABLE, count)
    fault_point("quarantined")


def keep_late(pending: PendingTransaction, rows: DataFrame, count: int) -> None:
    append_late(rows, pending.table.uri, pending.after, pending.ledger.table_id(), pending.pipeline.columns)
    verify_side_table(pending, LATE_TABLE, count)
    fault_point("late")


def verify_side_table(pending: PendingTransaction, suffix: str, wanted: int) -> None:
    """Check, from the side table's own log and while nothing is committed yet, that every row is there, once."""
    path = f"{pending.table.uri}{suffix}"
    written = rows_appended(pending.spark, path, pending.after)
    if written != wanted:
        raise unbalanced(f"{wanted} rows were to stand in {path}, its log says {written}")


def record_tombstones(pending: PendingTransaction, rows: DataFrame) -> None:
    """Every tombstone, also one that a newer event of its batch brought back: an older event is older than both."""
    traced = rows.where(F.col(DISPOSITION).isin(MERGE, FOLDED)).withColumn(LINEAGE, lineage_of(pending.after))
    pipeline, table_id = pending.pipeline, pending.ledger.table_id()
    record_deleted(traced, pending.table.uri, table_id, pipeline.name, pipeline.target.keys)
    fault_point("forgotten")


def commit_with_retries(pending: PendingTransaction, batch: ReconciledBatch) -> tuple[ChosenMerge, TableState]:
    """The same rows until they are in, or until it is clear that they cannot be. Returns the table's state before."""
    limits, ledger = pending.context.limits, pending.ledger
    for attempt in range(1, limits.commit_attempts + 1):
        state = refuse_moved(ledger, pending.before)
        pending.context.fit.ensure(pending.spark, state.metadata)
        if pending.context.check_pruning and batch.bounds:
            refuse_rows_outside_bounds(pending, batch)
        fault_point("merge")
        try:
            # Anew for each attempt: what a rival has written meanwhile may hold a key of the batch.
            chosen = choose_strategy(begin_merge(merge_request(pending, batch)), pending.context.strategies)
            write(chosen.prepared, pending.spark, pending.after)
        except (PySparkException, Py4JError) as error:
            if ledger.has(pending.after):
                log.warning("the commit had landed although its answer was lost", seq=pending.after.seq)
                return chosen, state
            if attempt == limits.commit_attempts or not isinstance(error, CONFLICTS):
                # A rival is the better error; Delta's own says only that somebody was faster.
                refuse_moved(ledger, pending.before)
                raise
            log.warning("another writer was faster, trying again", attempt=attempt, conflict=type(error).__name__)
            time.sleep(limits.pause_seconds(attempt))
        else:
            return chosen, state
    raise AssertionError("the last attempt returns or raises")


def merge_request(pending: PendingTransaction, batch: ReconciledBatch) -> MergeRequest:
    return MergeRequest(
        pending.spark,
        pending.table,
        pending.pipeline,
        batch.changes,
        batch.to_merge,
        batch.bounds,
        pending.after,
        pending.context.limits,
    )


def refuse_rows_outside_bounds(pending: PendingTransaction, batch: ReconciledBatch) -> None:
    """Prove on the user's own data that pruned and unpruned give the same table: no row with a key of the batch lies
    outside of its bounds. It reads the whole table."""
    attempt = begin_merge(merge_request(pending, batch))
    rows, inside = (
        DeltaTable.forPath(pending.spark, pending.table.uri).alias("t").toDF(),
        prune_condition(attempt.bounds),
    )
    outside = rows if inside is None else rows.where(~inside)
    keys = attempt.spec.keys
    found = attempt.changes.frame.alias("s").join(outside, on=F.expr(same_key(keys)), how="left_semi")
    for row in found.limit(1).collect():
        raise StateError(
            f"key {key_of(row, keys)} has a row outside of its batch's bounds: "
            "a column of target.prune_by has changed for it",
            "nothing was committed; take that column out of target.immutable and target.prune_by",
        )


def refuse_moved(ledger: Ledger, position: Position) -> TableState:
    """A rival run, a RESTORE or an overwrite since this run began: what it knows of the table is no longer true."""
    state = ledger.state()
    found = state.position
    if found != position:
        raise StateError(
            f"the table's position moved to epoch {found.epoch}, transaction {found.seq} while this job ran",
            "run one job a table; start this one again, it goes on from the table",
        )
    return state


def write(prepared: PreparedMerge, spark: SparkSession, stamp: Position) -> None:
    """The transaction is set anew for each attempt: Delta may have cleared it before the commit failed."""
    with transaction(spark, stamp):
        prepared.commit(stamp)
