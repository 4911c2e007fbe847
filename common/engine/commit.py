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

from common.delta.candidate_files import strays
from common.delta.deleted_keys import remember_deleted
from common.delta.ledger import Ledger
from common.delta.lineage import LINEAGE, origin
from common.delta.lock import commit_lock
from common.delta.open_ledger import transaction
from common.delta.pruning import Bound
from common.delta.side_tables import (
    LATE_TABLE,
    QUARANTINE_TABLE,
    append_late,
    append_quarantined,
    rows_appended,
    undo_provisional,
)
from common.engine.accounting import unbalanced
from common.engine.commit_metrics import FilesTouched, Outcome, check_outcome, files_touched, outcome
from common.engine.key_uniqueness import key_of
from common.engine.materialized_batch import Materialised
from common.engine.stage_timer import StageTimes
from common.engine.table_fit import TableFit
from common.errors import AlluviumError, StateError
from common.faults import fault_point
from common.merge.changes import Changes
from common.merge.strategies import Prospect, Task, Way
from common.model.position import Position
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.spark.validate.disposition import FATE, FOLDED, LATE, MERGE, QUARANTINED

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
class Step:
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
class Accounted:
    """A batch of which every row is explained: all of them with their fates, what the MERGE gets of them, and where in
    the table that can be."""

    judged: Materialised
    changes: Changes
    fates: dict[str, int]
    bounds: Sequence[Bound]

    @property
    def to_merge(self) -> int:
        return self.fates[MERGE]


@dataclass(frozen=True)
class Committed:
    """What a commit did, by its own metrics: to the rows, and to the files."""

    outcome: Outcome
    files: FilesTouched


def commit(spark: SparkSession, step: Step, ledger: Ledger, batch: Accounted, times: StageTimes) -> Committed:
    """Side tables first, the table last: its commit is the moment at which the batch has happened."""
    with commit_lock(step.table), written_beside(spark, step, ledger, batch, times):
        files = ledger.files()
        with times.stage("merge"):
            prospect = commit_with_retries(spark, step, ledger, batch)
    fault_point("committed")
    with times.stage("check"):
        metrics = ledger.metrics(step.after)
        found = outcome(metrics, superseded=prospect.superseded, absent=prospect.absent)
        check_outcome(found, batch.to_merge)
    return Committed(found, files_touched(metrics, files, prospect.candidates))


@contextmanager
def written_beside(
    spark: SparkSession, step: Step, ledger: Ledger, batch: Accounted, times: StageTimes
) -> Iterator[None]:
    """What belongs beside the table stands there while the commit is tried, and goes again if that fails."""
    writes = side_writes(step, ledger, batch)
    if not writes:
        yield
        return
    # Not only before the commit: beside the table, rows under a rival's number could not be told from the rival's own.
    refuse_moved(ledger, step.before)
    with undone_on_failure(spark, step.table, ledger):
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
            undo_provisional(spark, table.uri, ledger)
        except (PySparkException, Py4JError):
            log.warning("rows of a failed batch remain beside the table until the next start")
        raise


def side_writes(step: Step, ledger: Ledger, batch: Accounted) -> list[Callable[[], None]]:
    """In their order. Mostly none: nothing is turned away, and nothing deleted."""
    late, fates = step.pipeline.late, batch.fates
    writes: list[Callable[[], None]] = []
    if step.pipeline.deletes and fates[MERGE]:
        writes.append(lambda: remember(step, ledger, batch.judged.rows))
    if fates[QUARANTINED]:
        writes.append(lambda: quarantine(step, ledger, batch.judged.rows, fates[QUARANTINED]))
    if fates[LATE] and late is not None and late.action == "keep":
        writes.append(lambda: keep_late(step, ledger, batch.judged.rows, fates[LATE]))
    return writes


def quarantine(step: Step, ledger: Ledger, judged: DataFrame, count: int) -> None:
    fault_point("quarantine")
    append_quarantined(judged, step.table.uri, step.after, ledger.table_id())
    check_beside(judged.sparkSession, f"{step.table.uri}{QUARANTINE_TABLE}", step.after, count)
    fault_point("quarantined")


def keep_late(step: Step, ledger: Ledger, judged: DataFrame, count: int) -> None:
    append_late(judged, step.table.uri, step.after, ledger.table_id(), step.pipeline.columns)
    check_beside(judged.sparkSession, f"{step.table.uri}{LATE_TABLE}", step.after, count)
    fault_point("late")


def check_beside(spark: SparkSession, path: str, position: Position, wanted: int) -> None:
    """From the side table's own log, while nothing is committed yet: every row that was turned away is there, once."""
    written = rows_appended(spark, path, position)
    if written != wanted:
        raise unbalanced(f"{wanted} rows were to stand in {path}, its log says {written}")


def remember(step: Step, ledger: Ledger, judged: DataFrame) -> None:
    """Every tombstone, also one that a newer event of its batch brought back: an older event is older than both."""
    traced = judged.where(F.col(FATE).isin(MERGE, FOLDED)).withColumn(LINEAGE, origin(step.after))
    remember_deleted(traced, step.table.uri, ledger.table_id(), step.pipeline.name, step.pipeline.target.keys)
    fault_point("forgotten")


def refuse_strays(task: Task) -> None:
    """The proof that pruned and unpruned give the same table, on the user's own data: no row with a key of the batch
    lies outside of its bounds. It reads the whole table."""
    keys = task.pipeline.target.keys
    table = DeltaTable.forPath(task.spark, task.table.uri)
    for row in strays(table, task.changes.frame, keys, task.bounds).limit(1).collect():
        raise StateError(
            f"key {key_of(row, keys)} has a row outside of its batch's bounds: "
            "a column of target.prune_by has changed for it",
            "nothing was committed; take that column out of target.immutable and target.prune_by",
        )


def commit_with_retries(spark: SparkSession, step: Step, ledger: Ledger, batch: Accounted) -> Prospect:
    """The same rows until they are in, or until it is clear that they cannot be. Gives what the table held for them."""
    task = Task(spark, step.table, step.pipeline, batch.changes, batch.to_merge, batch.bounds, step.after)
    for attempt in range(1, ATTEMPTS + 1):
        refuse_moved(ledger, step.before)
        step.fit.ensure(spark)
        if step.check_pruning and batch.bounds:
            refuse_strays(task)
        fault_point("merge")
        try:
            # Anew for each attempt: what a rival has written meanwhile may hold a key of the batch.
            way = task.prepare()
            write(way, spark, step.after)
        except (PySparkException, Py4JError) as error:
            if ledger.has(step.after):
                log.warning("the commit had landed although its answer was lost", seq=step.after.seq)
                return way.prospect
            if attempt == ATTEMPTS or not isinstance(error, CONFLICTS):
                # A rival is the better error; Delta's own says only that somebody was faster.
                refuse_moved(ledger, step.before)
                raise
            log.warning("another writer was faster, trying again", attempt=attempt, conflict=type(error).__name__)
            time.sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        else:
            return way.prospect
    raise AssertionError("the last attempt returns or raises")


def refuse_moved(ledger: Ledger, position: Position) -> None:
    """A rival run, a RESTORE or an overwrite since this run began: what it knows of the table is no longer true."""
    found = ledger.position()
    if found != position:
        raise StateError(
            f"the table's position moved to epoch {found.epoch}, transaction {found.seq} while this job ran",
            "run one job a table; start this one again, it goes on from the table",
        )


def write(way: Way, spark: SparkSession, stamp: Position) -> None:
    """The transaction is set anew for each attempt: Delta may have cleared it before the commit failed."""
    with transaction(spark, stamp):
        way.commit(stamp)
