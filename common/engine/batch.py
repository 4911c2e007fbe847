"""The way of one batch, called by both drivers: read, judge, account, and one commit of rows and position."""

from dataclasses import asdict, dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from common import stop
from common.delta.open_ledger import open_ledger
from common.delta.pruning import bounds_by
from common.engine.accounting import check_plan, check_tally, totals
from common.engine.commit import Committed, PendingTransaction, ReconciledBatch, commit
from common.engine.gaps import check_gaps
from common.engine.key_uniqueness import check_keys
from common.engine.materialized_batch import MaterializedBatch, Materializer, materialize_fetched, materialize_read
from common.engine.stage_timer import StageTimer
from common.engine.table_fit import TableFit
from common.errors import AlluviumError, StateError
from common.faults import fault_point
from common.kafka.topic import TopicClient
from common.merge.changes import Changes, changes_of
from common.model.offsets import Offsets, Plan, starting_offsets
from common.model.position import Position
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.settings.remedies import new_epoch
from common.spark.classify import classify, classify_records
from common.spark.decode.decoder import Decoder
from common.spark.overflow import is_overflow, read_around
from common.spark.small_queries import FEW_RECORDS, small_query_conf
from common.spark.source import RECORD
from common.spark.validate.disposition import MERGE, QUARANTINED


class TooManyBadRecords(AlluviumError):
    """So many records are turned away that something is wrong with all of them."""


@dataclass(frozen=True)
class BatchResult:
    """What a batch did, and where the next one begins."""

    position: Position
    planned: Plan
    dispositions: dict[str, int]
    gaps: int
    committed: Committed
    seconds: dict[str, float]

    @property
    def rows_read(self) -> int:
        return sum(self.dispositions.values())

    def figures(self) -> dict[str, int]:
        """What is worth a line in the log: every row's fate, and what the commit did."""
        return {"rows": self.rows_read, **self.dispositions, "gaps": self.gaps, **asdict(self.committed.outcome)}


@dataclass(frozen=True)
class BatchContext:
    """Everything that a batch needs besides its rows."""

    fit: TableFit
    table: Location
    topic: TopicClient
    topic_id: str
    decoder: Decoder
    check_pruning: bool = False

    @property
    def pipeline(self) -> Pipeline:
        """As its file declares it, with the rules of the table besides its own."""
        return self.fit.pipeline


def run_batch(
    context: BatchContext,
    position: Position,
    planned: Plan,
    rows: DataFrame,
    times: StageTimer,
    *,
    fetched: bool = False,
) -> BatchResult:
    """Settle `rows`, which are those of `planned`, as the transaction after `position`. What was `fetched` by this
    process is little enough for it to hold.

    The session is the rows' own: in foreachBatch it is a clone, and MERGE reads the transaction from the session
    that owns the table.
    """
    fault_point("planned")
    spark = rows.sparkSession
    following = position.advanced(context.topic.name, context.topic_id, planned.end)
    pending = PendingTransaction(context.fit, context.table, position, following, check_pruning=context.check_pruning)
    # A request to stop lets a batch go as long as nothing of it is written.
    stop.check()
    with small_query_conf(spark, planned.records):
        with times.stage("read"):
            read = read_and_judge(
                in_one_task(rows, planned), context, planned, materialize_fetched if fetched else materialize_read
            )
        fault_point("read")
        stop.check()
        with times.stage("account"):
            check_plan(planned, position.offsets)
            accounted, gaps = account(context, planned, read, changes_of(read, context.pipeline, following))
    fault_point("accounted")
    stop.check()
    ledger = open_ledger(spark, context.table.uri, context.pipeline.name)
    committed = commit(spark, pending, ledger, accounted, times)
    fault_point("checked")
    with times.stage("copy"):
        ledger.copy(following)
    fault_point("copied")
    return BatchResult(following, planned, accounted.dispositions, gaps, committed, times.seconds())


def account(
    context: BatchContext, planned: Plan, read: MaterializedBatch, changes: Changes
) -> tuple[ReconciledBatch, int]:
    """Every planned offset explained, from the rows themselves: the fates, and the gaps. Nothing is written yet."""
    refuse_recreated(context.topic.describe()[0], context.topic_id, context.topic.name)
    pipeline, stats = context.pipeline, read.stats()
    check_tally(stats.tally, planned)
    gaps = check_gaps(read.gaps, stats.tally, planned, context.topic)
    check_keys(stats.ambiguous, pipeline)
    dispositions = totals(stats.tally)
    refuse_too_many_bad(dispositions, pipeline.quality.max_bad_ratio)
    bounds = bounds_by(stats.value_ranges, stats.kinds, pipeline) if dispositions[MERGE] else []
    return ReconciledBatch(read, changes, dispositions, bounds), gaps


def in_one_task(rows: DataFrame, planned: Plan) -> DataFrame:
    """A few records are settled by one task, from read to write: to share them out would be most of the work.

    Of Kafka's records Spark expects the worst, and joins nothing of unknown size in one task: the limit tells it how
    many there can be. It cuts nothing off: one record too many is for the accounts to find.
    """
    if planned.records > FEW_RECORDS:
        return rows
    return rows.coalesce(1).limit(planned.records + 1)


def read_and_judge(rows: DataFrame, context: BatchContext, planned: Plan, keep: Materializer) -> MaterializedBatch:
    """Judged again where the decoder has met what it did not know, from the rows that were read: not from the topic."""
    pipeline, decoder = context.pipeline, context.decoder
    read = read_once(rows, context, planned, keep)
    informed = decoder.with_schemas_seen_in(lambda: read.rows)
    if informed is None:
        return read
    return keep(classify_records(read.rows.select(RECORD), pipeline, informed), pipeline)


def read_once(rows: DataFrame, context: BatchContext, planned: Plan, keep: Materializer) -> MaterializedBatch:
    """Another read of the same range could meet a log that retention has shortened meanwhile. So there is another one
    only where a record has a time that fails every read by Spark."""
    pipeline, decoder = context.pipeline, context.decoder
    try:
        return keep(classify(rows, pipeline, decoder), pipeline)
    except (PySparkException, Py4JError) as error:
        refuse_unreadable(context, planned.start)
        around = read_around(rows.sparkSession, context.topic, planned) if is_overflow(error) else None
        if around is None:
            raise
    return keep(classify(around, pipeline, decoder), pipeline)


def refuse_unreadable(context: BatchContext, start: Offsets) -> None:
    """Where the broker or the topic is the reason of a failed read, it is the better error: it knows the remedy."""
    refuse_recreated(context.topic.describe()[0], context.topic_id, context.topic.name)
    starting_offsets(start, context.topic.available())


def refuse_recreated(found: str, wanted: str, name: str) -> None:
    """After the read, so that no record of a topic that was recreated meanwhile passes."""
    if found != wanted:
        raise StateError(
            f"topic '{name}' was recreated while this job ran (its id is {found}, it was {wanted})",
            f"begin a new epoch on it with {new_epoch('beginning')}",
        )


def refuse_too_many_bad(dispositions: dict[str, int], max_ratio: float) -> None:
    bad, read = dispositions[QUARANTINED], sum(dispositions.values())
    if bad > max_ratio * read:
        raise TooManyBadRecords(
            f"{bad} of {read} records would be quarantined, more than max_bad_ratio {max_ratio:g} allows",
            "nothing was written; correct the producer or the pipeline file, or allow more",
        )
