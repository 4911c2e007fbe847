"""Replay: quarantined records once more, by today's schema and rules, in the order that they had.

Rows selected = merged + folded + superseded + late + skipped + still bad + unordered; the last two stay waiting.
"""

from dataclasses import dataclass, replace

from delta.tables import DeltaTable
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from common.delta.deleted_keys import read_deleted, record_deleted
from common.delta.ledger import Ledger
from common.delta.lineage import LINEAGE, LINEAGE_TYPE
from common.delta.open_ledger import transaction
from common.delta.quarantine import FOLDED, LATE, REPLAYED, SKIPPED, SUPERSEDED, Quarantine
from common.engine.accounting import AccountingError
from common.engine.commit import CONFLICTS
from common.engine.commit_metrics import Outcome, check_outcome, outcome
from common.engine.key_uniqueness import SplitKeyError, refuse_split_keys
from common.engine.table_fit import TableFit
from common.errors import StateError, TryLater
from common.merge.alignment import align
from common.merge.delta_merge import commit_empty, merge_latest, merge_spec
from common.model.position import Replay
from common.operations.replay_order import ROW_EXISTS, has_unknown_order, is_superseded, replay_guard, with_row_of_key
from common.settings.environment import run_id
from common.settings.locations import Location
from common.settings.pipeline import POSITION, Pipeline
from common.settings.remedies import again
from common.spark.classify import classify_records
from common.spark.decode.decoder import Decoder
from common.spark.deduplicate import deduplicate
from common.spark.source import RECORD, RECORD_FIELDS
from common.spark.validate import disposition
from common.spark.validate.rejection import REASON
from common.spark.validate.tombstone import DELETED

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
    """What would become of the selected rows, one outcome each, and why the bad ones still are."""

    rows: DataFrame
    counts: dict[str, int]
    still_bad: dict[tuple[str, str], int]
    absent: int

    @property
    def settled(self) -> int:
        return sum(self.counts[name] for name in SETTLED)

    def lines(self) -> list[str]:
        told = [f"{self.counts[name]} {words}" for name, words in WORDS.items() if self.counts[name]]
        for (before, now), count in sorted(self.still_bad.items()):
            told.append(f"{count} still bad: {now}" + ("" if before == now else f", was {before}"))
        if self.counts[UNORDERED]:
            told.append(
                f"{self.counts[UNORDERED]} unordered: the key has a row whose order is unknown; "
                "--overwrite replaces it, or declare lineage = true"
            )
        return told


class Replayer:
    """One table and its quarantine."""

    def __init__(self, spark: SparkSession, fit: TableFit, table: Location, ledger: Ledger, decoder: Decoder) -> None:
        self._spark, self._pipeline, self._table, self._ledger = spark, fit.pipeline, table, ledger
        self._fit, self._decoder = fit, decoder
        self.quarantine = Quarantine(spark, table, ledger)

    def plan(self, selected: DataFrame, count: int, *, overwrite: bool) -> ReplayPlan:
        """Nothing is written for it. `count` is the number of `selected`, counted on its own."""
        pipeline = self._pipeline
        judged = self._judged(as_sent(selected))
        target = DeltaTable.forPath(self._spark, self._table.uri)
        remembered = read_deleted(self._spark, self._table.uri, self._ledger.table_id(), pipeline.name)
        standing = with_row_of_key(judged, target, remembered, pipeline)
        rows = standing.withColumn(OUTCOME, outcome_of(pipeline, overwrite=overwrite)).localCheckpoint()
        refuse_keys_of_two_partitions(rows, pipeline)
        return counted(rows, count, pipeline)

    def _judged(self, sent: DataFrame) -> DataFrame:
        pipeline = self._pipeline
        judged = classify_records(sent, pipeline, self._decoder)
        informed = self._decoder.with_schemas_seen_in(lambda: judged)
        if informed is not None:
            judged = classify_records(sent, pipeline, informed)
        return deduplicate(judged, pipeline, newest_reading(pipeline))

    def execute(self, plan: ReplayPlan, *, overwrite: bool) -> Outcome:
        """Claim, commit, mark: whatever is killed when, the table's log tells what a claim is worth."""
        replay = Replay(self._pipeline.name, self._ledger.replays() + 1, run_id())
        settled = plan.rows.where(F.col(OUTCOME).isin(*SETTLED))
        self.quarantine.claim(settled, F.col(OUTCOME), replay.seq)
        try:
            self._commit(plan, replay, overwrite=overwrite)
        except CONFLICTS as error:
            raise TryLater("another writer was faster", "nothing was replayed; run it again") from error
        except (PySparkException, Py4JError):
            if not self._ledger.has(replay):
                raise
        found = outcome(self._ledger.metrics(replay), superseded=0, absent=plan.absent)
        check_outcome(found, plan.counts[REPLAYED])
        self.quarantine.settle_claims()
        return found

    def _commit(self, plan: ReplayPlan, replay: Replay, *, overwrite: bool) -> None:
        pipeline, path = self._pipeline, self._table.uri
        merged = plan.rows.where(F.col(OUTCOME) == REPLAYED)
        if pipeline.deletes:
            record_deleted(merged, path, self._ledger.table_id(), pipeline.name, pipeline.target.keys)
        self._fit.ensure(self._spark)
        table = DeltaTable.forPath(self._spark, path)
        changes = merged.select(*pipeline.columns, LINEAGE, *([DELETED] if pipeline.deletes else []))
        aligned = align(changes.schema, table.toDF().schema, undeclared=pipeline.target.schema_changes.undeclared)
        guard = replay_guard(table, pipeline, overwrite=overwrite)
        with transaction(self._spark, replay):
            if plan.counts[REPLAYED]:
                merge_latest(table, aligned.frame(changes), replace(merge_spec(pipeline, aligned), guard=guard))
            else:
                commit_empty(self._spark, path)


def as_sent(selected: DataFrame) -> DataFrame:
    """The records as Kafka gave them, with their origin, and the reason that they were turned away for."""
    record = F.struct(*RECORD_FIELDS)
    origin = F.struct(*(field.name for field in LINEAGE_TYPE)).cast(LINEAGE_TYPE)
    # Offsets of a topic that was recreated begin anew: the later incarnation is the one that was read in later epochs.
    incarnation = F.max("epoch").over(Window.partitionBy("topic_id"))
    return selected.select(
        record.alias(RECORD),
        origin.alias(LINEAGE),
        F.col("reason").alias("_reason_before"),
        incarnation.alias(INCARNATION),
    )


def newest_reading(pipeline: Pipeline) -> list[Column]:
    return [F.col(INCARNATION).desc()] if pipeline.target.sequence == POSITION else []


def refuse_keys_of_two_partitions(judged: DataFrame, pipeline: Pipeline) -> None:
    try:
        refuse_split_keys(judged, pipeline)
    except SplitKeyError as error:
        one, other = (again("--partition", str(partition)) for partition in error.partitions)
        raise StateError(
            error.message, f"replay one partition at a time, the one with the newer records last: {one}, then {other}"
        ) from error


def outcome_of(pipeline: Pipeline, *, overwrite: bool) -> Column:
    """Unordered goes before folded: a record whose newer one stays waiting must not be done with before it."""
    found = F.when(F.col(disposition.DISPOSITION) == disposition.QUARANTINED, F.lit(STILL_BAD))
    found = found.when(F.col(disposition.DISPOSITION) == disposition.LATE, F.lit(LATE)).when(
        F.col(disposition.DISPOSITION) == disposition.NULL, F.lit(SKIPPED)
    )
    found = found.when(is_superseded(pipeline), F.lit(SUPERSEDED))
    if not overwrite:
        found = found.when(has_unknown_order(pipeline), F.lit(UNORDERED))
    return found.when(F.col(disposition.DISPOSITION) == disposition.FOLDED, F.lit(FOLDED)).otherwise(F.lit(REPLAYED))


def counted(rows: DataFrame, selected: int, pipeline: Pipeline) -> ReplayPlan:
    """The accounts of a replay, from its materialised rows; every selected row has one outcome, or nothing is done."""
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
    return ReplayPlan(rows, counts, still_bad, absent)
