"""Replay quarantined records by today's schema and rules, in their original order.

Rows selected = merged + folded + superseded + late + skipped + still bad + unordered. The last two stay waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from delta.exceptions import ConcurrentWriteException
from delta.tables import DeltaTable
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from common.delta.deleted_keys import read_deleted, record_deleted
from common.delta.ledger import Ledger
from common.delta.lineage import LINEAGE_TYPE
from common.delta.log import Commits
from common.delta.open_ledger import transaction
from common.delta.quarantine import FOLDED, LATE, REPLAYED, SKIPPED, SUPERSEDED, Quarantine
from common.engine.commit_metrics import Outcome, check_outcome, outcome
from common.engine.materialized_batch import compared_columns
from common.engine.table_fit import TableFit
from common.errors import AccountingError, SplitKeyError, StateError
from common.merge.changes import Changes
from common.merge.request import MergeRequest, begin_merge
from common.merge.strategies import choose_strategy
from common.model import disposition
from common.model.disposition import DELETED, REASON
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.merge_spec import LINEAGE
from common.model.position import Replay
from common.model.record import RECORD, RECORD_FIELDS
from common.operations.replay_order import ROW_EXISTS, has_unknown_order, is_superseded, with_row_of_key
from common.rules.pruning import PruneBound, prune_bounds
from common.settings.environment import run_id
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.settings.remedies import again
from common.settings.target import POSITION
from common.spark.arrow_rows import can_collect
from common.spark.classify import classify
from common.spark.decode.decoder import Decoder
from common.spark.deduplicate import deduplicate
from common.spark.key_uniqueness import COMPETES, refuse_split_keys
from common.spark.pruning import prune_condition, prune_types, ranges_column, ranges_from_json, undeclared_keys
from common.spark.queries import collect_many

log = structlog.get_logger()
OUTCOME = "_outcome"
INCARNATION = "_incarnation"
STILL_BAD = "still bad"
UNORDERED = "unordered"
SETTLED = (REPLAYED, FOLDED, SUPERSEDED, LATE, SKIPPED)
WORDS = {
    REPLAYED: "merged: valid by today's schema and rules",
    FOLDED: "folded: a newer record of the key is among them",
    SUPERSEDED: "superseded: the table has something newer of the key, a row or a delete",
    LATE: "late by the pipeline's bound: kept here, not merged",
    SKIPPED: "skipped: no value, which the pipeline skips today",
}


@dataclass(frozen=True)
class ReplayPlan:
    """The outcome of each selected row, and the reasons of those that are still bad."""

    rows: DataFrame
    counts: dict[str, int]
    still_bad: dict[tuple[str, str], int]
    absent: int
    # The prune bounds of the rows, and the table's version that the outcomes are true for.
    bounds: Sequence[PruneBound]
    version: int

    @property
    def settled(self) -> int:
        return sum(self.counts[name] for name in SETTLED)

    def lines(self) -> list[str]:
        lines = [f"{self.counts[name]} {words}" for name, words in WORDS.items() if self.counts[name]]
        for (before, now), count in sorted(self.still_bad.items()):
            lines.append(f"{count} still bad: {now}" + ("" if before == now else f", was {before}"))
        if self.counts[UNORDERED]:
            lines.append(
                f"{self.counts[UNORDERED]} unordered: the key has a row whose order is unknown; "
                "--overwrite replaces it, or declare lineage = true"
            )
        return lines


class Replayer:
    """Replays from the quarantine of one table."""

    def __init__(
        self,
        spark: SparkSession,
        fit: TableFit,
        table: Location,
        ledger: Ledger,
        decoder: Decoder,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._spark, self._pipeline, self._table, self._ledger = spark, fit.pipeline, table, ledger
        self._fit, self._decoder, self._limits = fit, decoder, limits
        self.quarantine = Quarantine(spark, table, ledger)

    def plan(self, selected: DataFrame, count: int, *, overwrite: bool) -> ReplayPlan:
        """Plan a replay without writing anything. `count` is the number of `selected`, from a query of its own."""
        pipeline, path = self._pipeline, self._table.uri
        classified = self._classified(as_sent(selected)).localCheckpoint()
        bounds = self._bounds(classified)
        version = Commits(self._spark, path).version()
        remembered = read_deleted(self._spark, path, self._ledger.table_id(), pipeline.name)
        compared = with_row_of_key(classified, self._candidate_rows(bounds), remembered, pipeline)
        rows = compared.withColumn(OUTCOME, outcome_of(pipeline, overwrite=overwrite)).localCheckpoint()
        refuse_keys_of_two_partitions(rows, pipeline)
        return counted(rows, count, pipeline, bounds, version)

    def _classified(self, sent: DataFrame) -> DataFrame:
        pipeline = self._pipeline
        classified = classify(sent, pipeline, self._decoder)
        informed = self._decoder.with_schemas_seen_in(lambda: classified)
        if informed is not None:
            classified = classify(sent, pipeline, informed)
        return deduplicate(classified, pipeline, newest_reading(pipeline))

    def _bounds(self, classified: DataFrame) -> list[PruneBound]:
        """Return the prune bounds of the records, because the table may be large, and few records are replayed."""
        pipeline = self._pipeline
        types = prune_types(classified.schema, pipeline)
        if not types:
            return []
        undivided = undeclared_keys(classified.schema, pipeline)
        column = ranges_column(types, F.expr(COMPETES), undivided)
        ranges = collect_many({"ranges": classified.agg(column.alias("ranges"))})["ranges"][0]["ranges"]
        value_ranges = {name: ranges_from_json(ranges[name], kind) for name, kind in types}
        if not any(each.ranges for each in value_ranges.values()):
            return []
        return prune_bounds(value_ranges, types, pipeline.target.keys, deletes=pipeline.deletes)

    def _candidate_rows(self, bounds: Sequence[PruneBound]) -> DataFrame:
        rows, inside = DeltaTable.forPath(self._spark, self._table.uri).alias("t").toDF(), prune_condition(bounds)
        return rows if inside is None else rows.where(inside)

    def execute(self, plan: ReplayPlan) -> Outcome:
        """Claim the rows, commit, and settle the claims. After a kill, the table's log shows what a claim is worth.

        A writer that was faster is a conflict, one of CONFLICTS, and the plan has to be made anew.
        """
        replay = Replay(self._pipeline.name, self._ledger.replays() + 1, run_id())
        settled = plan.rows.where(F.col(OUTCOME).isin(*SETTLED))
        self.quarantine.claim(settled, F.col(OUTCOME), replay.seq)
        try:
            self._commit(plan, replay)
        except (PySparkException, Py4JError):
            if not self._ledger.has(replay):
                raise
        done = outcome(self._ledger.metrics(replay), superseded=0, absent=plan.absent)
        check_outcome(done, plan.counts[REPLAYED])
        self.quarantine.settle_claims()
        return done

    def _commit(self, plan: ReplayPlan, replay: Replay) -> None:
        pipeline, path = self._pipeline, self._table.uri
        merged = plan.rows.where(F.col(OUTCOME) == REPLAYED)
        if pipeline.deletes:
            record_deleted(merged, path, self._ledger.table_id(), pipeline.name, pipeline.target.keys)
        self._fit.ensure(self._spark, self._ledger.state().metadata)
        request = MergeRequest(
            self._spark,
            self._table,
            pipeline,
            self._changes(merged, plan.counts[REPLAYED]),
            plan.counts[REPLAYED],
            plan.bounds,
            replay,
            self._limits,
        )
        attempt = begin_merge(request)
        if attempt.transaction.version != plan.version:
            raise ConcurrentWriteException("the table has changed since the replay was planned")
        chosen = choose_strategy(attempt)
        log.debug("replay", strategy=chosen.strategy, declined=chosen.declined)
        with transaction(self._spark, replay):
            chosen.prepared.commit(replay)

    def _changes(self, merged: DataFrame, count: int) -> Changes:
        pipeline = self._pipeline
        engine = [*([LINEAGE] if pipeline.target.lineage else []), *([DELETED] if pipeline.deletes else [])]
        frame = merged.select(*pipeline.columns, *engine)
        is_few = count <= self._limits.fetched_records
        is_small = is_few and can_collect(frame.schema, compared_columns(pipeline))
        return Changes(frame.schema, lambda: frame, frame.toArrow() if is_small else None)


def as_sent(selected: DataFrame) -> DataFrame:
    """Restore the records as Kafka gave them, with their lineage and the reason of their quarantine."""
    record = F.struct(*RECORD_FIELDS)
    lineage = F.struct(*(field.name for field in LINEAGE_TYPE)).cast(LINEAGE_TYPE)
    # Offsets of a recreated topic begin anew. The later incarnation is the one that was read in later epochs.
    incarnation = F.max("epoch").over(Window.partitionBy("topic_id"))
    return selected.select(
        record.alias(RECORD),
        lineage.alias(LINEAGE),
        F.col("reason").alias("_reason_before"),
        incarnation.alias(INCARNATION),
    )


def newest_reading(pipeline: Pipeline) -> list[Column]:
    return [F.col(INCARNATION).desc()] if pipeline.target.sequence == POSITION else []


def refuse_keys_of_two_partitions(classified: DataFrame, pipeline: Pipeline) -> None:
    try:
        refuse_split_keys(classified, pipeline)
    except SplitKeyError as error:
        one, other = (again("--partition", str(partition)) for _, partition in error.partitions)
        raise StateError(
            error.message, f"replay one partition at a time, the one with the newer records last: {one}, then {other}"
        ) from error


def outcome_of(pipeline: Pipeline, *, overwrite: bool) -> Column:
    """Return the outcome of each row.

    Unordered goes before folded: a record must not be done with while the newer one of its key stays waiting.
    """
    column = F.when(F.col(disposition.DISPOSITION) == disposition.QUARANTINED, F.lit(STILL_BAD))
    column = column.when(F.col(disposition.DISPOSITION) == disposition.LATE, F.lit(LATE)).when(
        F.col(disposition.DISPOSITION) == disposition.NULL, F.lit(SKIPPED)
    )
    column = column.when(is_superseded(pipeline), F.lit(SUPERSEDED))
    if not overwrite:
        column = column.when(has_unknown_order(pipeline), F.lit(UNORDERED))
    return column.when(F.col(disposition.DISPOSITION) == disposition.FOLDED, F.lit(FOLDED)).otherwise(F.lit(REPLAYED))


def counted(
    rows: DataFrame, selected: int, pipeline: Pipeline, bounds: Sequence[PruneBound], version: int
) -> ReplayPlan:
    """Count the outcomes of the materialized rows. Every selected row must have one, or nothing is done."""
    is_absent = F.col(DELETED) & F.col(ROW_EXISTS).isNull() if pipeline.deletes else F.lit(False)  # noqa: FBT003
    groups = rows.groupBy(OUTCOME, "_reason_before", REASON).agg(
        F.count("*").alias("rows"), F.count_if(is_absent).alias("absent")
    )
    counts = dict.fromkeys((*SETTLED, STILL_BAD, UNORDERED), 0)
    still_bad: dict[tuple[str, str], int] = {}
    absent = 0
    for group in groups.collect():
        counts[group[OUTCOME]] += group["rows"]
        if group[OUTCOME] == STILL_BAD:
            still_bad[group["_reason_before"], group[REASON]] = group["rows"]
        if group[OUTCOME] == REPLAYED:
            absent += group["absent"]
    if sum(counts.values()) != selected:
        raise AccountingError(
            f"the accounts of this replay do not balance: {selected} rows were selected, {sum(counts.values())} have "
            "an outcome",
            "nothing was written; look for a key that stands twice in the table",
        )
    return ReplayPlan(rows, counts, still_bad, absent, bounds, version)
