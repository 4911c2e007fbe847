"""Compaction: many small files of a partition into few, one partition at a time, beside a running stream."""

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
    """What to compact: up to which size files are small, and for how long nobody has written to a partition that is
    closed. Without the latter, open partitions are compacted too."""

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
    """The chunks that need it, and how many more would if they were closed."""

    chunks: list[Chunk]
    open: int


@dataclass(frozen=True)
class Compacted:
    """What became of a chunk, by Delta's own figures: nothing where others had compacted it, or kept changing it."""

    chunk: Chunk
    removed: int
    added: int
    seconds: float


def plan_compaction(spark: SparkSession, table: Location, scope: Scope) -> CompactionPlan:
    """From the table's log alone: partitions in which fewer files would hold the same rows."""
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
    """Liquid tables are clustered as a whole: Delta refuses a condition there."""
    details = DeltaTable.forPath(spark, table.uri).detail().select("clusteringColumns").first()
    return details is not None and bool(details["clusteringColumns"])


def small_files(files: DataFrame, newest: Column, target_bytes: int) -> DataFrame:
    """Of each partition, the sizes of its small files. The newest counts whatever its size: it says when a batch wrote
    to the partition last."""
    partition = F.to_json("partitionValues", {"ignoreNullFields": "false"})
    sizes = F.sort_array(F.collect_list(F.when(F.col("size") < target_bytes, F.col("size"))))
    return (
        files.groupBy(partition.alias("partition"))
        .agg(F.first("partitionValues").alias("values"), newest, sizes.alias("sizes"))
        .orderBy("partition")
    )


def clustered_files(files: DataFrame, newest: Column) -> DataFrame:
    """All of them, where one at least is not clustered yet."""
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
    """As OPTIMIZE packs them: from the smallest on, into a file until it would be more than full."""
    packed, filled = 0, target_bytes
    for size in sorted(sizes):
        if filled + size > target_bytes:
            packed, filled = packed + 1, 0
        filled += size
    return packed


def is_closed(written_milliseconds: int, closed_after_seconds: int | None) -> bool:
    """Batches write where events belong: where none has written for long, compaction will not be undone by the next."""
    return closed_after_seconds is None or time.time() - written_milliseconds / 1000 >= closed_after_seconds


def compact(
    spark: SparkSession, table: Location, lock: Location, chunks: Sequence[Chunk], scope: Scope
) -> Iterator[Compacted]:
    """Each chunk in a commit of its own, under the commit lock; gives it when it is done."""
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
    """Delta's own figures. Writers that know nothing of the lock may win each time: then the chunk is left to the next
    run, because its rows are safe as they are."""
    condition = where(chunk.partition)
    for _ in range(ATTEMPTS):
        optimize = DeltaTable.forPath(spark, table.uri).optimize()
        try:
            done = (optimize.where(condition) if condition else optimize).executeCompaction().first()
        except CONFLICTS as error:
            log.warning("another writer was faster", chunk=chunk.name, conflict=type(error).__name__)
        else:
            assert done is not None  # noqa: S101  OPTIMIZE always gives one row
            found: Row = done["metrics"]
            return found
    return None


def where(partition: dict[str, str | None]) -> str:
    """Partition values are texts in the log, whatever their type; a comparison brings them back to it."""
    return " AND ".join(
        f"{quoted(column)} IS NULL" if value is None else f"{quoted(column)} = {literal(value)}"
        for column, value in partition.items()
    )
