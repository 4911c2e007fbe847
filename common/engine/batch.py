"""The way of one batch, called by both drivers: read, judge, account, and one commit of rows and position."""

from dataclasses import asdict, dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from common import stop
from common.delta.open_ledger import open_ledger
from common.delta.pruning import bounds_by
from common.engine.accounting import check_plan, check_tally, totals
from common.engine.commit import Accounted, Committed, Step, commit
from common.engine.gaps import check_gaps
from common.engine.key_uniqueness import check_keys
from common.engine.materialized_batch import Keep, Materialised, keep_few, keep_many
from common.engine.stage_timer import StageTimes
from common.engine.table_fit import TableFit
from common.errors import AlluviumError, StateError
from common.faults import fault_point
from common.kafka.topic import Topic
from common.merge.changes import Changes, changes_of
from common.model.offsets import Offsets, Plan, starting_offsets
from common.model.position import Position
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.settings.remedies import new_epoch
from common.spark.classify import with_fates, with_fates_of_records
from common.spark.decode.decoder import Decoder
from common.spark.overflow import is_overflow, read_around
from common.spark.small_queries import FEW_RECORDS, planned_for
from common.spark.source import RECORD
from common.spark.validate.disposition import MERGE, QUARANTINED


class TooManyBadRecords(AlluviumError):
    """So many records are turned away that something is wrong with all of them."""


@dataclass(frozen=True)
class BatchResult:
    """What a batch did, and where the next one begins."""

    position: Position
    planned: Plan
    fates: dict[str, int]
    gaps: int
    committed: Committed
    seconds: dict[str, float]

    @property
    def rows_read(self) -> int:
        return sum(self.fates.values())

    def figures(self) -> dict[str, int]:
        """What is worth a line in the log: every row's fate, and what the commit did."""
        return {"rows": self.rows_read, **self.fates, "gaps": self.gaps, **asdict(self.committed.outcome)}


@dataclass(frozen=True)
class Settling:
    """Everything that a batch needs besides its rows."""

    fit: TableFit
    table: Location
    topic: Topic
    topic_id: str
    decoder: Decoder
    check_pruning: bool = False

    @property
    def pipeline(self) -> Pipeline:
        """As its file declares it, with the rules of the table besides its own."""
        return self.fit.pipeline


def run_batch(
    settling: Settling, position: Position, planned: Plan, rows: DataFrame, times: StageTimes, *, fetched: bool = False
) -> BatchResult:
    """Settle `rows`, which are those of `planned`, as the transaction after `position`. What was `fetched` by this
    process is little enough for it to hold.

    The session is the rows' own: in foreachBatch it is a clone, and MERGE reads the transaction from the session
    that owns the table.
    """
    fault_point("planned")
    spark = rows.sparkSession
    following = position.advanced(settling.topic.name, settling.topic_id, planned.end)
    step = Step(settling.fit, settling.table, position, following, check_pruning=settling.check_pruning)
    # A request to stop lets a batch go as long as nothing of it is written.
    stop.check()
    with planned_for(spark, planned.records):
        with times.stage("read"):
            read = read_and_judge(in_one_task(rows, planned), settling, planned, keep_few if fetched else keep_many)
        fault_point("read")
        stop.check()
        with times.stage("account"):
            check_plan(planned, position.offsets)
            accounted, gaps = account(settling, planned, read, changes_of(read, settling.pipeline, following))
    fault_point("accounted")
    stop.check()
    ledger = open_ledger(spark, settling.table.uri, settling.pipeline.name)
    committed = commit(spark, step, ledger, accounted, times)
    fault_point("checked")
    with times.stage("copy"):
        ledger.copy(following)
    fault_point("copied")
    return BatchResult(following, planned, accounted.fates, gaps, committed, times.seconds())


def account(settling: Settling, planned: Plan, read: Materialised, changes: Changes) -> tuple[Accounted, int]:
    """Every planned offset explained, from the rows themselves: the fates, and the gaps. Nothing is written yet."""
    refuse_recreated(settling.topic.describe()[0], settling.topic_id, settling.topic.name)
    pipeline, answers = settling.pipeline, read.answers()
    check_tally(answers.tally, planned)
    gaps = check_gaps(read.gaps, answers.tally, planned, settling.topic)
    check_keys(answers.unclear, pipeline)
    fates = totals(answers.tally)
    refuse_too_many_bad(fates, pipeline.quality.max_bad_ratio)
    bounds = bounds_by(answers.spreads, answers.kinds, pipeline) if fates[MERGE] else []
    return Accounted(read, changes, fates, bounds), gaps


def in_one_task(rows: DataFrame, planned: Plan) -> DataFrame:
    """A few records are settled by one task, from read to write: to share them out would be most of the work.

    Of Kafka's records Spark expects the worst, and joins nothing of unknown size in one task: the limit tells it how
    many there can be. It cuts nothing off: one record too many is for the accounts to find.
    """
    if planned.records > FEW_RECORDS:
        return rows
    return rows.coalesce(1).limit(planned.records + 1)


def read_and_judge(rows: DataFrame, settling: Settling, planned: Plan, keep: Keep) -> Materialised:
    """Judged again where the decoder has met what it did not know, from the rows that were read: not from the topic."""
    pipeline, decoder = settling.pipeline, settling.decoder
    read = read_once(rows, settling, planned, keep)
    informed = decoder.informed_by(lambda: read.rows)
    if informed is None:
        return read
    return keep(with_fates_of_records(read.rows.select(RECORD), pipeline, informed), pipeline)


def read_once(rows: DataFrame, settling: Settling, planned: Plan, keep: Keep) -> Materialised:
    """Another read of the same range could meet a log that retention has shortened meanwhile. So there is another one
    only where a record has a time that fails every read by Spark."""
    pipeline, decoder = settling.pipeline, settling.decoder
    try:
        return keep(with_fates(rows, pipeline, decoder), pipeline)
    except (PySparkException, Py4JError) as error:
        refuse_unreadable(settling, planned.start)
        around = read_around(rows.sparkSession, settling.topic, planned) if is_overflow(error) else None
        if around is None:
            raise
    return keep(with_fates(around, pipeline, decoder), pipeline)


def refuse_unreadable(settling: Settling, start: Offsets) -> None:
    """Where the broker or the topic is the reason of a failed read, it is the better error: it knows the remedy."""
    refuse_recreated(settling.topic.describe()[0], settling.topic_id, settling.topic.name)
    starting_offsets(start, settling.topic.available())


def refuse_recreated(found: str, wanted: str, name: str) -> None:
    """After the read, so that no record of a topic that was recreated meanwhile passes."""
    if found != wanted:
        raise StateError(
            f"topic '{name}' was recreated while this job ran (its id is {found}, it was {wanted})",
            f"begin a new epoch on it with {new_epoch('beginning')}",
        )


def refuse_too_many_bad(fates: dict[str, int], max_ratio: float) -> None:
    bad, read = fates[QUARANTINED], sum(fates.values())
    if bad > max_ratio * read:
        raise TooManyBadRecords(
            f"{bad} of {read} records would be quarantined, more than max_bad_ratio {max_ratio:g} allows",
            "nothing was written; correct the producer or the pipeline file, or allow more",
        )
