"""The write phase of a batch: side tables first, the table last, in one transaction that carries the position."""

import time
from collections.abc import Iterator
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

from common.account.outcome import FilesTouched, Outcome, check_outcome, files_touched, outcome
from common.account.tally import unbalanced
from common.account.times import StageTimes
from common.divide.fate import FATE, FOLDED, LATE, MERGE, QUARANTINED
from common.divide.tombstone import DELETED
from common.errors import AlluviumError, StateError
from common.faults import fault_point
from common.ledger.delta import transaction
from common.ledger.ledger import Ledger
from common.ledger.lock import commit_lock
from common.ledger.position import Position
from common.merge.deleted_keys import remember_deleted
from common.merge.origin import LINEAGE, ensure_lineage, origin
from common.merge.side_tables import (
    LATE_TABLE,
    QUARANTINE_TABLE,
    append_late,
    append_quarantined,
    rows_appended,
    undo_provisional,
)
from common.merge.upsert import append_nothing, count_absent, count_superseded, merge_latest, upsert_of
from common.settings.locations import Location
from common.settings.pipeline import Pipeline

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

    pipeline: Pipeline
    table: Location
    before: Position
    after: Position


@dataclass(frozen=True)
class Committed:
    """What a commit did, by its own metrics: to the rows, and to the files."""

    outcome: Outcome
    files: FilesTouched


def commit(step: Step, ledger: Ledger, judged: DataFrame, fates: dict[str, int], times: StageTimes) -> Committed:
    """Side tables first, the table last: its commit is the moment at which the batch has happened."""
    with commit_lock(step.table):
        # Here too: beside the table, rows under a rival's number could not be told from the rival's own.
        refuse_moved(ledger, step.before)
        with undone_on_failure(judged.sparkSession, step.table, ledger):
            with times.stage("beside"):
                write_beside(step, ledger, judged, fates)
            files = ledger.files()
            with times.stage("merge"):
                kept_out = commit_with_retries(step, ledger, changes_of(judged, step), to_merge=fates[MERGE])
    fault_point("committed")
    with times.stage("check"):
        metrics = ledger.metrics(step.after)
        found = outcome(metrics, superseded=kept_out.superseded, absent=kept_out.absent)
        check_outcome(found, fates[MERGE])
    return Committed(found, files_touched(metrics, files))


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


def changes_of(judged: DataFrame, step: Step) -> DataFrame:
    """What the MERGE gets: one row a key, with its columns, whether it deletes, and where it comes from."""
    flags = [DELETED] if step.pipeline.deletes else []
    lineage = [origin(step.after).alias(LINEAGE)] if step.pipeline.target.lineage else []
    return judged.where(F.col(FATE) == MERGE).select(*step.pipeline.columns, *flags, *lineage)


def write_beside(step: Step, ledger: Ledger, judged: DataFrame, fates: dict[str, int]) -> None:
    table, late = step.table.uri, step.pipeline.late
    if step.pipeline.deletes and fates[MERGE]:
        remember(step, ledger, judged)
        fault_point("forgotten")
    if fates[QUARANTINED]:
        fault_point("quarantine")
        append_quarantined(judged, table, step.after, ledger.table_id())
        check_beside(judged.sparkSession, f"{table}{QUARANTINE_TABLE}", step.after, fates[QUARANTINED])
        fault_point("quarantined")
    if fates[LATE] and late is not None and late.action == "keep":
        append_late(judged, table, step.after, ledger.table_id(), step.pipeline.columns)
        check_beside(judged.sparkSession, f"{table}{LATE_TABLE}", step.after, fates[LATE])
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


@dataclass(frozen=True)
class KeptOut:
    """Changes that find nothing to do: a newer row stands, or there is no row to delete."""

    superseded: int
    absent: int


def count_kept_out(step: Step, changes: DataFrame) -> KeptOut:
    target = step.pipeline.target
    table = DeltaTable.forPath(changes.sparkSession, step.table.uri)
    return KeptOut(
        superseded=count_superseded(table, changes, target.keys, target.sequence),
        absent=count_absent(table, changes, target.keys) if step.pipeline.deletes else 0,
    )


def commit_with_retries(step: Step, ledger: Ledger, changes: DataFrame, *, to_merge: int) -> KeptOut:
    """The same rows until they are in, or until it is clear that they cannot be. Gives what found nothing to do."""
    spark = changes.sparkSession
    ensure_lineage(spark, step.table.uri, step.pipeline)
    for attempt in range(1, ATTEMPTS + 1):
        refuse_moved(ledger, step.before)
        kept_out = count_kept_out(step, changes)
        fault_point("merge")
        try:
            write(step, changes, to_merge)
        except (PySparkException, Py4JError) as error:
            if ledger.has(step.after):
                log.warning("the commit had landed although its answer was lost", seq=step.after.seq)
                return kept_out
            if attempt == ATTEMPTS or not isinstance(error, CONFLICTS):
                # A rival is the better error; Delta's own says only that somebody was faster.
                refuse_moved(ledger, step.before)
                raise
            log.warning("another writer was faster, trying again", attempt=attempt, conflict=type(error).__name__)
            time.sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        else:
            return kept_out
    raise AssertionError("the last attempt returns or raises")


def refuse_moved(ledger: Ledger, position: Position) -> None:
    """A rival run, a RESTORE or an overwrite since this run began: what it knows of the table is no longer true."""
    found = ledger.position()
    if found != position:
        raise StateError(
            f"the table's position moved to epoch {found.epoch}, transaction {found.seq} while this job ran",
            "run one job a table; start this one again, it goes on from the table",
        )


def write(step: Step, changes: DataFrame, to_merge: int) -> None:
    """The transaction is set anew for each attempt: Delta may have cleared it before the commit failed."""
    spark = changes.sparkSession
    with transaction(spark, step.after):
        if to_merge:
            merge_latest(DeltaTable.forPath(spark, step.table.uri), changes, upsert_of(step.pipeline))
        else:
            append_nothing(spark, step.table.uri)
