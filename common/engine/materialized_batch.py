"""A batch that was read once and judged, and what the accounts ask of it, of rows held by this process or by Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import structlog
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.pruning import (
    MAX_DIVIDED,
    Kinds,
    ValueRanges,
    column_types,
    ranges_column,
    ranges_from_json,
    undeclared_keys,
    value_ranges_of,
    whole_range_of,
)
from common.engine.accounting import PartitionTally, count_dispositions, tally, wrong_disposition
from common.engine.gaps import Ranges, gaps_arrow, gaps_in_spark
from common.engine.key_uniqueness import first_ambiguous_key
from common.errors import first_line
from common.kafka.topic import Gaps
from common.rules.accounting import WRONG_DISPOSITION, first_ambiguous_key_arrow, tally_arrow, with_wrong_dedup
from common.rules.compare import CONVERSION_ERRORS, can_collect
from common.settings.pipeline import POSITION, Pipeline
from common.spark.deduplicate import deduplicate, deduplicate_arrow
from common.spark.jvm import cached_bytes, unpersist_checkpoint
from common.spark.queries import JsonRow, collect_many
from common.spark.source import RECORD, place
from common.spark.validate.disposition import DISPOSITION, MERGE
from common.spark.validate.rejection import MESSAGE, REASON

log = structlog.get_logger()
# By Spark's estimate, and each with its record's bytes: less comes here.
HELD_BYTES = 256 * 2**20
IS_TO_MERGE = f"{DISPOSITION} = '{MERGE}'"


@dataclass(frozen=True)
class BatchStats:
    """Of each partition its tally, at most one key that is not clear, and where the prune columns' values lie."""

    tally: Mapping[int, PartitionTally]
    ambiguous: Sequence[JsonRow]
    value_ranges: Mapping[str, ValueRanges]
    kinds: Kinds


class MaterializedBatch(Protocol):
    """Rows that were read once."""

    @property
    def schema(self) -> T.StructType: ...

    @property
    def rows(self) -> DataFrame:
        """All of them. Which of those to be merged are folded is for `to_merge` and `held` to say."""

    @property
    def to_merge(self) -> DataFrame:
        """One row a key."""

    @property
    def arrow(self) -> pa.Table | None:
        """The same rows in this process, where it has them."""

    def stats(self) -> BatchStats: ...

    def gaps(self, ranges: Ranges) -> Gaps:
        """The offsets of these ranges that no row has."""


Materializer = Callable[[DataFrame, Pipeline], MaterializedBatch]


class SparkBatch:
    """Computed and folded once, and kept where that was done."""

    arrow = None

    def __init__(self, rows: DataFrame, pipeline: Pipeline) -> None:
        self.rows, self.schema = rows, rows.schema
        self.to_merge = rows.where(IS_TO_MERGE)
        self._pipeline = pipeline

    def stats(self) -> BatchStats:
        undeclared = tuple(undeclared_keys(self.schema, self._pipeline))
        kinds = column_types(self.schema, [*self._pipeline.target.prune_by, *undeclared])
        questions = {
            "fates": count_dispositions(self.rows, self._pipeline),
            "unclear": first_ambiguous_key(self.rows, self._pipeline),
        }
        if kinds:
            questions["spans"] = self.rows.agg(ranges_to_merge(kinds, undeclared).alias("spans"))
        found = collect_many(questions)
        ranges = found["spans"][0]["spans"] if kinds else {}
        value_ranges = {name: ranges_from_json(ranges[name], kind) for name, kind in kinds}
        return BatchStats(tally(found["fates"]), found["unclear"], value_ranges, kinds)

    def gaps(self, ranges: Ranges) -> Gaps:
        return gaps_in_spark(self.rows, ranges)


class DriverBatch:
    """Rows in this process: to fold and to count them in Spark takes longer."""

    def __init__(self, schema: T.StructType, judged: DataFrame, pipeline: Pipeline) -> None:
        rows = judged.toArrow()
        self.schema, self.arrow = schema, with_wrong_dedup(rows, deduplicate_arrow(rows, pipeline))
        self._pipeline = pipeline

    def stats(self) -> BatchStats:
        undeclared = undeclared_keys(self.schema, self._pipeline)
        kinds = column_types(self.schema, [*self._pipeline.target.prune_by, *undeclared])
        to_merge = self.arrow.filter(pc.equal(self.arrow[DISPOSITION], MERGE))
        undivided = undeclared if to_merge.num_rows > MAX_DIVIDED else ()
        value_ranges = {
            name: whole_range_of(to_merge[name]) if name in undivided else value_ranges_of(to_merge[name], kind)
            for name, kind in kinds
        }
        return BatchStats(
            tally_arrow(self.arrow), first_ambiguous_key_arrow(self.arrow, self._pipeline), value_ranges, kinds
        )

    def gaps(self, ranges: Ranges) -> Gaps:
        return gaps_arrow(self.arrow, ranges)


class FetchedBatch(DriverBatch):
    """Only here: to keep them in Spark as well would take longer than all that is done with them."""

    def __init__(self, judged: DataFrame, pipeline: Pipeline) -> None:
        super().__init__(judged.schema, judged.select("*", misrouted(pipeline)), pipeline)
        self._spark = judged.sparkSession

    @cached_property
    def rows(self) -> DataFrame:
        """For what Spark has to do with them after all, in one task."""
        return self._spark.createDataFrame(self.arrow.drop_columns(WRONG_DISPOSITION), self.schema).coalesce(1)

    @property
    def to_merge(self) -> DataFrame:
        return self.rows.where(IS_TO_MERGE)


class CollectedBatch(DriverBatch):
    """Of rows that Spark keeps, all that the accounts and the merge need of them: not the records' own bytes."""

    def __init__(self, rows: DataFrame, pipeline: Pipeline) -> None:
        needed = rows.select("*", misrouted(pipeline)).withColumn(RECORD, place()).drop(REASON, MESSAGE)
        super().__init__(rows.schema, needed, pipeline)
        self.rows, self._needed = rows, needed.schema

    @cached_property
    def to_merge(self) -> DataFrame:
        """From here, and not folded again: what is merged is what was accounted for."""
        to_merge = self.arrow.filter(pc.equal(self.arrow[DISPOSITION], MERGE))
        # Spark takes no table without any chunk.
        return self.rows.sparkSession.createDataFrame(to_merge if to_merge.num_rows else [], self._needed)


def materialize_fetched(judged: DataFrame, pipeline: Pipeline) -> MaterializedBatch:
    """Records that this process has fetched, which are few."""
    return FetchedBatch(judged, pipeline) if fits_arrow(judged, pipeline) else materialize_in_spark(judged, pipeline)


def materialize_read(judged: DataFrame, pipeline: Pipeline) -> MaterializedBatch:
    """Once Spark has computed them it tells how large they are."""
    if not fits_arrow(judged, pipeline):
        return materialize_in_spark(judged, pipeline)
    rows = judged.localCheckpoint()
    if cached_bytes(rows) <= HELD_BYTES:
        try:
            return CollectedBatch(rows, pipeline)
        except CONVERSION_ERRORS as error:
            log.info("Spark accounts for this batch", reason=first_line(error))
    kept = materialize_in_spark(rows, pipeline)
    unpersist_checkpoint(rows)
    return kept


def materialize_in_spark(judged: DataFrame, pipeline: Pipeline) -> MaterializedBatch:
    return SparkBatch(deduplicate(judged, pipeline).localCheckpoint(), pipeline)


def fits_arrow(judged: DataFrame, pipeline: Pipeline) -> bool:
    """Unless they are of a kind that only Spark knows."""
    order = [] if pipeline.target.sequence == POSITION else [pipeline.target.sequence]
    return can_collect(judged.schema, [*pipeline.target.keys, *order])


@cache
def ranges_to_merge(kinds: Kinds, undivided: tuple[str, ...]) -> Column:
    return ranges_column(kinds, F.expr(IS_TO_MERGE), undivided)


@cache
def misrouted(pipeline: Pipeline) -> Column:
    return wrong_disposition(pipeline).alias(WRONG_DISPOSITION)
