"""Compaction: rewrite the small files of a partition into few, one partition at a time, beside a running stream."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import structlog
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from common import stop
from common.delta.lock import commit_lock
from common.delta.log import Commits
from common.engine.commit import CONFLICTS
from common.faults import fault_point
from common.settings.locations import Location
from common.spark.sql_text import literal, quoted

log = structlog.get_logger()
ATTEMPTS = 3


@dataclass(frozen=True)
class Scope:
    """The files to compact: those below a size, in closed partitions, which no batch has written to for that time.

    Without a time, open partitions are compacted too.
    """

    target_bytes: int
    closed_after_seconds: int | None = None


@dataclass(frozen=True)
class Chunk:
    """One partition with more small files than it needs; without partition columns, the whole table."""

    partition: dict[str, str | None]
    files: int
    bytes: int
    files_after: int

    @property
    def name(self) -> str:
        return ", ".join(f"{column}={value}" for column, value in self.partition.items()) or "the whole table"

    def __str__(self) -> str:
        return f"{self.name}: {self.files} files, {self.bytes} bytes, {self.files_after} afterwards"


@dataclass(frozen=True)
class CompactionPlan:
    """The chunks to compact, and how many more there would be if open partitions were closed."""

    chunks: list[Chunk]
    open: int


@dataclass(frozen=True)
class Compacted:
    """The result for a chunk by Delta's own metrics: no files where others had compacted it, or kept changing it."""

    chunk: Chunk
    removed: int
    added: int
    seconds: float


def plan_compaction(spark: SparkSession, table: Location, scope: Scope) -> CompactionPlan:
    """Find the partitions in which fewer files would hold the same rows, by the table's log alone."""
    newest = F.max("modificationTime").alias("newest")
    is_clustered = has_clustering(spark, table)
    files = Commits(spark, table.uri).data_files()
    groups = clustered_files(files, newest) if is_clustered else small_files(files, newest, scope.target_bytes)
    needed = [
        (chunk, row["newest"])
        for row in groups.collect()
        if (chunk := chunk_of(row, scope.target_bytes, is_clustered=is_clustered)) is not None
    ]
    chunks = [chunk for chunk, written in needed if is_closed(written, scope.closed_after_seconds)]
    return CompactionPlan(chunks, len(needed) - len(chunks))


def has_clustering(spark: SparkSession, table: Location) -> bool:
    """True for a table with liquid clustering. It is clustered as a whole, because Delta refuses a condition there."""
    details = DeltaTable.forPath(spark, table.uri).detail().select("clusteringColumns").first()
    return details is not None and bool(details["clusteringColumns"])


def small_files(files: DataFrame, newest: Column, target_bytes: int) -> DataFrame:
    """Collect the sizes of the small files of each partition, and the time of its newest file.

    The newest counts whatever its size, because it shows when a batch wrote to the partition last.
    """
    partition = F.to_json("partitionValues", {"ignoreNullFields": "false"})
    sizes = F.sort_array(F.collect_list(F.when(F.col("size") < target_bytes, F.col("size"))))
    return (
        files.groupBy(partition.alias("partition"))
        .agg(F.first("partitionValues").alias("values"), newest, sizes.alias("sizes"))
        .orderBy("partition")
    )


def clustered_files(files: DataFrame, newest: Column) -> DataFrame:
    """Collect the sizes of all files, where at least one is not clustered yet."""
    unclustered = F.count_if(F.col("clusteringProvider").isNull())
    sizes = F.collect_list("size").alias("sizes")
    values = F.first("partitionValues").alias("values")
    return files.groupBy().agg(values, newest, sizes, unclustered.alias("unclustered")).where("unclustered > 0")


def chunk_of(row: Row, target_bytes: int, *, is_clustered: bool) -> Chunk | None:
    sizes: list[int] = row["sizes"]
    after = max(1, sum(sizes) // target_bytes) if is_clustered else files_after(sizes, target_bytes)
    if len(sizes) < 2 or (after >= len(sizes) and not is_clustered):
        return None
    return Chunk(dict(row["values"]), len(sizes), sum(sizes), after)


def files_after(sizes: Sequence[int], target_bytes: int) -> int:
    """Count the files after OPTIMIZE. It packs from the smallest on, into a file until it would be too full."""
    packed, filled = 0, target_bytes
    for size in sorted(sizes):
        if filled + size > target_bytes:
            packed, filled = packed + 1, 0
        filled += size
    return packed


def is_closed(written_milliseconds: int, closed_after_seconds: int | None) -> bool:
    """True where no batch has written for long, so that the next one will most likely not undo the compaction."""
    return closed_after_seconds is None or time.time() - written_milliseconds / 1000 >= closed_after_seconds


def compact(
    spark: SparkSession, table: Location, lock: Location, chunks: Sequence[Chunk], scope: Scope
) -> Iterator[Compacted]:
    """Compact each chunk in a commit of its own, under the commit lock, and yield its result."""
    spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(scope.target_bytes))
    spark.conf.set("spark.databricks.delta.optimize.minFileSize", str(scope.target_bytes))
    for chunk in chunks:
        began = time.monotonic()
        with commit_lock(lock):
            fault_point("optimize")
            stop.check()
            metrics = optimized(spark, table, chunk)
        removed, added = (0, 0) if metrics is None else (metrics["numFilesRemoved"], metrics["numFilesAdded"])
        yield Compacted(chunk, removed, added, time.monotonic() - began)


def optimized(spark: SparkSession, table: Location, chunk: Chunk) -> Row | None:
    """Optimize a chunk, and return Delta's own metrics; None where it is left to the next run.

    Writers without our lock may win each time. The rows of the chunk are safe as they are.
    """
    condition = where(chunk.partition)
    for _ in range(ATTEMPTS):
        optimize = DeltaTable.forPath(spark, table.uri).optimize()
        try:
            done = (optimize.where(condition) if condition else optimize).executeCompaction().first()
        except CONFLICTS as error:
            log.warning("another writer was faster", chunk=chunk.name, conflict=type(error).__name__)
        else:
            assert done is not None  # noqa: S101  OPTIMIZE always gives one row
            metrics: Row = done["metrics"]
            return metrics
    return None


def where(partition: dict[str, str | None]) -> str:
    """Write the condition for a partition. The log has its values as texts, and the comparison casts them."""
    return " AND ".join(
        f"{quoted(column)} IS NULL" if value is None else f"{quoted(column)} = {literal(value)}"
        for column, value in partition.items()
    )
