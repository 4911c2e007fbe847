"""A batch that was read, decoded and validated once. The driver keeps its rows as Arrow, or Spark keeps them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import structlog
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.errors import first_line
from common.model.disposition import DISPOSITION, MERGE, MESSAGE, REASON
from common.model.limits import Limits
from common.model.offsets import TopicPartition
from common.model.record import RECORD
from common.rules import accounting, gaps, key_uniqueness
from common.rules.accounting import WRONG_DISPOSITION, PartitionTally, with_wrong_dedup
from common.rules.deduplicate import deduplicate
from common.rules.gaps import Gaps, Ranges
from common.rules.pruning import ColumnTypes, ValueRanges, value_ranges, whole_range
from common.settings.pipeline import Pipeline
from common.spark import deduplicate as spark_deduplicate
from common.spark import gaps as spark_gaps
from common.spark.accounting import count_dispositions, wrong_disposition
from common.spark.arrow_rows import can_collect
from common.spark.jvm import cached_bytes, unpersist_checkpoint
from common.spark.key_uniqueness import first_ambiguous_key
from common.spark.pruning import prune_types, ranges_column, ranges_from_json, undeclared_keys
from common.spark.queries import JsonRow, collect_many
from common.spark.source import place

log = structlog.get_logger()
IS_TO_MERGE = f"{DISPOSITION} = '{MERGE}'"


@dataclass(frozen=True)
class BatchStats:
    """The statistics of a batch: counts by partition, at most one ambiguous key, ranges of the prune columns."""

    tally: Mapping[TopicPartition, PartitionTally]
    ambiguous: Sequence[JsonRow]
    value_ranges: Mapping[str, ValueRanges]
    types: ColumnTypes


class MaterializedBatch(Protocol):
    """Rows that were read once."""

    @property
    def schema(self) -> T.StructType: ...

    @property
    def rows(self) -> DataFrame:
        """Every row that was read, also those that are not merged: see `to_merge`."""

    @property
    def to_merge(self) -> DataFrame:
        """The rows to merge: one row a key, once the batch is deduplicated."""

    @property
    def arrow(self) -> pa.Table | None:
        """The rows as Arrow; None where only Spark has them."""

    def deduplicate(self) -> "MaterializedBatch":
        """Return the same batch with one row to merge for each key."""

    def stats(self) -> BatchStats: ...

    def gaps(self, ranges: Ranges) -> Gaps:
        """Find the offsets of these ranges that no row has."""


class SparkBatch:
    """Rows that stay on the executors: a batch of any size."""

    arrow = None

    def __init__(self, rows: DataFrame, pipeline: Pipeline) -> None:
        self.rows, self.schema = rows, rows.schema
        self.to_merge = rows.where(IS_TO_MERGE)
        self._pipeline = pipeline

    def deduplicate(self) -> "SparkBatch":
        rows = spark_deduplicate.deduplicate(self.rows, self._pipeline).localCheckpoint()
        unpersist_checkpoint(self.rows)
        return SparkBatch(rows, self._pipeline)

    def stats(self) -> BatchStats:
        undeclared = undeclared_keys(self.schema, self._pipeline)
        types = prune_types(self.schema, self._pipeline)
        queries = {
            "tally": count_dispositions(self.rows, self._pipeline),
            "ambiguous": first_ambiguous_key(self.rows, self._pipeline),
        }
        if types:
            queries["ranges"] = self.rows.agg(ranges_to_merge(types, undeclared).alias("ranges"))
        found = collect_many(queries)
        ranges = found["ranges"][0]["ranges"] if types else {}
        return BatchStats(
            accounting.tally_from(found["tally"]),
            found["ambiguous"],
            {name: ranges_from_json(ranges[name], kind) for name, kind in types},
            types,
        )

    def gaps(self, ranges: Ranges) -> Gaps:
        return spark_gaps.find_gaps(self.rows, ranges)


class DriverBatch:
    """Rows in the driver, which deduplicates and counts them faster than Spark."""

    def __init__(self, arrow: pa.Table, schema: T.StructType, pipeline: Pipeline, limits: Limits) -> None:
        self.arrow, self.schema = arrow, schema
        self._pipeline, self._limits = pipeline, limits

    def stats(self) -> BatchStats:
        target, rows = self._pipeline.target, self.arrow
        types = prune_types(self.schema, self._pipeline)
        to_merge = rows.filter(pc.equal(rows[DISPOSITION], MERGE))
        is_large = to_merge.num_rows > self._limits.divided_values
        undivided = undeclared_keys(self.schema, self._pipeline) if is_large else ()
        return BatchStats(
            accounting.tally(rows),
            key_uniqueness.first_ambiguous_key(rows, target.keys, target.ordering),
            {
                name: whole_range(to_merge[name]) if name in undivided else value_ranges(to_merge[name], kind)
                for name, kind in types
            },
            types,
        )

    def gaps(self, ranges: Ranges) -> Gaps:
        return gaps.find_gaps(self.arrow, ranges)

    def _deduplicated(self) -> pa.Table:
        target = self._pipeline.target
        return with_wrong_dedup(self.arrow, deduplicate(self.arrow, target.keys, target.ordering))


class FetchedBatch(DriverBatch):
    """Rows that only the driver has: to keep them in Spark too would take longer than all other work on them."""

    def __init__(
        self, arrow: pa.Table, schema: T.StructType, pipeline: Pipeline, limits: Limits, spark: SparkSession
    ) -> None:
        super().__init__(arrow, schema, pipeline, limits)
        self._spark = spark

    @cached_property
    def rows(self) -> DataFrame:
        """The rows as a DataFrame of one task, for the work that Spark still does."""
        return self._spark.createDataFrame(self.arrow.drop_columns(WRONG_DISPOSITION), self.schema).coalesce(1)

    @property
    def to_merge(self) -> DataFrame:
        return self.rows.where(IS_TO_MERGE)

    def deduplicate(self) -> "FetchedBatch":
        return FetchedBatch(self._deduplicated(), self.schema, self._pipeline, self._limits, self._spark)


class CollectedBatch(DriverBatch):
    """Rows that Spark keeps, with a copy in the driver for the accounts and the merge, without the records' bytes."""

    def __init__(
        self, arrow: pa.Table, rows: DataFrame, kept: T.StructType, pipeline: Pipeline, limits: Limits
    ) -> None:
        super().__init__(arrow, rows.schema, pipeline, limits)
        self.rows, self._kept = rows, kept

    @cached_property
    def to_merge(self) -> DataFrame:
        """The rows to merge, from the driver's copy: exactly the rows that were accounted for."""
        to_merge = self.arrow.filter(pc.equal(self.arrow[DISPOSITION], MERGE))
        # Spark takes no table without any chunk.
        return self.rows.sparkSession.createDataFrame(to_merge if to_merge.num_rows else [], self._kept)

    def deduplicate(self) -> "CollectedBatch":
        return CollectedBatch(self._deduplicated(), self.rows, self._kept, self._pipeline, self._limits)


def materialize(classified: DataFrame, pipeline: Pipeline, limits: Limits, *, is_fetched: bool) -> MaterializedBatch:
    """Compute the rows of a batch, once. Records that the driver has fetched are few enough for it to hold."""
    collectable = can_collect(classified.schema, compared_columns(pipeline))
    if is_fetched and collectable:
        arrow = classified.select("*", wrong_column(pipeline)).toArrow()
        return FetchedBatch(arrow, classified.schema, pipeline, limits, classified.sparkSession)
    rows = classified.localCheckpoint()
    # Spark knows the size of the rows only after it has computed them.
    if collectable and cached_bytes(rows) <= limits.collected_bytes:
        try:
            return collect(rows, pipeline, limits)
        except pa.ArrowException as error:
            log.info("Spark accounts for this batch", reason=first_line(error))
    return SparkBatch(rows, pipeline)


def collect(rows: DataFrame, pipeline: Pipeline, limits: Limits) -> CollectedBatch:
    kept = rows.select("*", wrong_column(pipeline)).withColumn(RECORD, place()).drop(REASON, MESSAGE)
    return CollectedBatch(kept.toArrow(), rows, kept.schema, pipeline, limits)


def compared_columns(pipeline: Pipeline) -> tuple[str, ...]:
    ordering = pipeline.target.ordering
    return (*pipeline.target.keys, *([] if ordering is None else [ordering]))


@cache
def ranges_to_merge(types: ColumnTypes, undivided: tuple[str, ...]) -> Column:
    return ranges_column(types, F.expr(IS_TO_MERGE), undivided)


@cache
def wrong_column(pipeline: Pipeline) -> Column:
    return wrong_disposition(pipeline).alias(WRONG_DISPOSITION)
