"""Compaction: many small files of a partition into few, one partition at a time, beside a running stream."""

from collections.abc import Iterator
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common.faults import fault_point
from common.ledger.commits import Commits
from common.ledger.lock import commit_lock
from common.merge.quoting import literal, quoted
from common.settings.locations import Location


@dataclass(frozen=True)
class Chunk:
    """One partition with more small files than it needs; without partition columns, the whole table."""

    partition: dict[str, str | None]
    files: int
    bytes: int

    def __str__(self) -> str:
        name = ", ".join(f"{column}={value}" for column, value in self.partition.items()) or "the whole table"
        return f"{name}: {self.files} files, {self.bytes} bytes"


def plan_compaction(spark: SparkSession, table: Location, small_bytes: int) -> list[Chunk]:
    """Partitions with at least two files below the bound, from the table's log alone."""
    small = Commits(spark, table.uri).data_files().where(F.col("size") < small_bytes)
    partition = F.to_json("partitionValues", {"ignoreNullFields": "false"})
    crowded = (
        small.groupBy(partition.alias("partition"))
        .agg(F.first("partitionValues").alias("values"), F.count("*").alias("files"), F.sum("size").alias("bytes"))
        .where("files > 1")
        .orderBy("partition")
    )
    return [Chunk(dict(row["values"]), row["files"], row["bytes"]) for row in crowded.collect()]


def compact(spark: SparkSession, table: Location, chunks: list[Chunk], small_bytes: int) -> Iterator[Chunk]:
    """Each chunk in a commit of its own, under the commit lock; gives it when it is done."""
    spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(small_bytes))
    spark.conf.set("spark.databricks.delta.optimize.minFileSize", str(small_bytes))
    for chunk in chunks:
        with commit_lock(table):
            fault_point("optimize")
            optimize = DeltaTable.forPath(spark, table.uri).optimize()
            condition = where(chunk.partition)
            (optimize.where(condition) if condition else optimize).executeCompaction()
        yield chunk


def where(partition: dict[str, str | None]) -> str:
    """Partition values are texts in the log, whatever their type; a comparison brings them back to it."""
    return " AND ".join(
        f"{quoted(column)} IS NULL" if value is None else f"{quoted(column)} = {literal(value)}"
        for column, value in partition.items()
    )
