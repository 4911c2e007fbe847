"""The way of one batch, called by both drivers: decode, divide, fold, account, and one commit of rows and position."""

import time
from dataclasses import asdict, dataclass

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
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.account.outcome import Outcome, check_outcome, outcome
from common.account.tally import check_gaps, check_tally, refuse_split_keys, tally, totals
from common.decode.json import JSON, TEXT, json_verdicts, with_event
from common.divide.fate import FATE, LATE, MERGE, QUARANTINED, pipeline_verdicts, with_fate
from common.divide.verdict import with_reason
from common.errors import AlluviumError, StateError
from common.ledger.ledger import Ledger, transaction
from common.ledger.position import Position
from common.merge.side_tables import append_late, append_quarantined, undo_provisional
from common.merge.upsert import append_nothing, count_superseded, merge_latest
from common.plan.broker import Topic
from common.plan.offsets import Plan
from common.read.kafka import as_records
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


class TooManyBadRecords(AlluviumError):
    """So many records are turned away that something is wrong with all of them."""


@dataclass(frozen=True)
class BatchResult:
    """What a batch did, and where the next one begins."""

    position: Position
    fates: dict[str, int]
    gaps: int
    outcome: Outcome

    @property
    def rows_read(self) -> int:
        return sum(self.fates.values())

    def figures(self) -> dict[str, int]:
        """What is worth a line in the log: every row's fate, and what the commit did."""
        return {"rows": self.rows_read, **self.fates, "gaps": self.gaps, **asdict(self.outcome)}


@dataclass(frozen=True)
class Settling:
    """Everything that a batch needs besides its rows. `table` is the URI that Delta gets."""

    pipeline: Pipeline
    table: str
    topic: Topic
    topic_id: str


def run_batch(settling: Settling, position: Position, planned: Plan, rows: DataFrame) -> BatchResult:
    """Settle `rows`, which are those of `planned`, as the transaction after `position`.

    The session is the rows' own: in foreachBatch it is a clone, and MERGE reads the transaction from the session
    that owns the table.
    """
    judged = materialise(with_fates(rows, settling.pipeline), settling.topic)
    refuse_recreated(settling.topic.describe()[0], settling.topic_id, settling.topic.name)
    counted = tally(judged)
    check_tally(counted, planned)
    gaps = check_gaps(judged, counted, planned, settling.topic)
    refuse_split_keys(judged, settling.pipeline)
    fates = totals(counted)
    refuse_too_many_bad(fates, settling.pipeline.quality.max_bad_ratio)
    following = position.advanced(settling.topic.name, settling.topic_id, planned.end)
    ledger = Ledger(rows.sparkSession, settling.table, settling.pipeline.name)
    found = commit(settling, ledger, position, following, judged, fates)
    ledger.copy(following)
    return BatchResult(following, fates, gaps, found)


def materialise(judged: DataFrame, topic: Topic) -> DataFrame:
    """Read once: another read of the same range could meet a log that retention has shortened meanwhile."""
    try:
        return judged.localCheckpoint()
    except (PySparkException, Py4JError):
        # Where the broker is the reason, it is the better error: it says so, and that later may do.
        topic.describe()
        raise


def refuse_recreated(found: str, wanted: str, name: str) -> None:
    """After the read, so that no record of a topic that was recreated meanwhile passes."""
    if found != wanted:
        raise StateError(
            f"topic '{name}' was recreated while this job ran (its id is {found}, it was {wanted})",
            "begin a new epoch on it with submit/epoch.sh --at beginning",
        )


def with_fates(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Decoded, derived, judged, folded: every record with its event and its fate."""
    source = pipeline.source
    decoded = with_event(as_records(rows), source.columns, source.max_record_bytes)
    verdicts = [*json_verdicts(source.columns, source.max_record_bytes), *pipeline_verdicts(pipeline)]
    judged = with_reason(with_derived(decoded, pipeline), verdicts).drop(TEXT, JSON)
    return with_fate(judged, pipeline)


def with_derived(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    return events.withColumns({name: F.expr(sql) for name, sql in pipeline.target.derived.items()})


def refuse_too_many_bad(fates: dict[str, int], max_ratio: float) -> None:
    bad, read = fates[QUARANTINED], sum(fates.values())
    if bad > max_ratio * read:
        raise TooManyBadRecords(
            f"{bad} of {read} records would be quarantined, more than max_bad_ratio {max_ratio:g} allows",
            "nothing was written; correct the producer or the pipeline file, or allow more",
        )


def commit(
    settling: Settling,
    ledger: Ledger,
    position: Position,
    following: Position,
    judged: DataFrame,
    fates: dict[str, int],
) -> Outcome:
    """Side tables first, the table last: its commit is the moment at which the batch has happened."""
    pipeline = settling.pipeline
    # Here too: beside the table, rows under a rival's number could not be told from the rival's own.
    refuse_moved(ledger, position)
    if fates[QUARANTINED]:
        append_quarantined(judged, settling.table, following, ledger.table_id())
    if fates[LATE] and pipeline.late is not None and pipeline.late.action == "keep":
        append_late(judged, settling.table, following, ledger.table_id(), pipeline.columns)
    changes = judged.where(F.col(FATE) == MERGE).select(*pipeline.columns)
    superseded = commit_with_retries(settling, ledger, position, following, changes, to_merge=fates[MERGE])
    found = outcome(ledger.metrics(following), superseded)
    check_outcome(found, fates[MERGE])
    return found


def commit_with_retries(
    settling: Settling, ledger: Ledger, position: Position, following: Position, changes: DataFrame, *, to_merge: int
) -> int:
    """The same rows until they are in, or until it is clear that they cannot be. Gives how many were superseded."""
    spark, target = changes.sparkSession, settling.pipeline.target
    for attempt in range(1, ATTEMPTS + 1):
        refuse_moved(ledger, position)
        superseded = count_superseded(DeltaTable.forPath(spark, settling.table), changes, target.keys, target.sequence)
        try:
            write(settling, following, changes, to_merge)
        except (PySparkException, Py4JError) as error:
            if ledger.has(following):
                log.warning("the commit had landed although its answer was lost", seq=following.seq)
                return superseded
            if attempt == ATTEMPTS or not isinstance(error, CONFLICTS):
                undo_provisional(spark, settling.table, ledger)
                raise
            log.warning("another writer was faster, trying again", attempt=attempt, conflict=type(error).__name__)
            time.sleep(FIRST_PAUSE_SECONDS * 2 ** (attempt - 1))
        else:
            return superseded
    raise AssertionError("the last attempt returns or raises")


def refuse_moved(ledger: Ledger, position: Position) -> None:
    """A rival run, a RESTORE or an overwrite since this run began: what it knows of the table is no longer true."""
    found = ledger.position()
    if found != position:
        raise StateError(
            f"the table's position moved to epoch {found.epoch}, transaction {found.seq} while this job ran",
            "run one job a table; start this one again, it goes on from the table",
        )


def write(settling: Settling, following: Position, changes: DataFrame, to_merge: int) -> None:
    """The transaction is set anew for each attempt: Delta may have cleared it before the commit failed."""
    spark, target = changes.sparkSession, settling.pipeline.target
    with transaction(spark, following):
        if to_merge:
            table = DeltaTable.forPath(spark, settling.table)
            merge_latest(table, changes, target.keys, settling.pipeline.columns, target.sequence)
        else:
            append_nothing(spark, settling.table)
