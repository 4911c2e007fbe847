"""VACUUM: files that no version within the retention needs. What it would delete is told first."""

import time
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from pyspark.sql import SparkSession

from common.delta.feed_readers import Readers
from common.delta.lock import commit_lock
from common.delta.log import Commits
from common.delta.small_files import Files
from common.operations.retention import HOUR_MS, Retention, refuse_unread, refuse_unsafe
from common.settings.locations import Location
from common.spark.jvm import delta_snapshot, java
from common.spark.session import settings
from common.spark.sql_text import quoted

IGNORE_RETENTION = "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled"
CHECK_RETENTION = "spark.databricks.delta.retentionDurationCheck.enabled"
LOGGED = "spark.databricks.delta.vacuum.logging.enabled"
# Folders are listed by so many tasks. By default 10,000, however few there are: minutes for a small table.
LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
# Else the driver fetches the names with a job for each of the tasks.
DELETE_IN_TASKS = "spark.databricks.delta.vacuum.parallelDelete.enabled"


@dataclass(frozen=True)
class Unneeded:
    """What VACUUM would delete: files with their sizes."""

    sizes: Mapping[str, int]

    @property
    def files(self) -> int:
        return len(self.sizes)

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def own_retention_hours(spark: SparkSession, table: Location) -> int:
    """The table's delta.deletedFileRetentionDuration, 7 days where it has none; a part of an hour counts as one."""
    log, snapshot = java(spark, "org.apache.spark.sql.delta.DeltaLog"), delta_snapshot(spark, table.uri)
    return -(-int(log.tombstoneRetentionMillis(snapshot.metadata())) // HOUR_MS)


def refuse(spark: SparkSession, table: Location, retention: Retention) -> None:
    """Everything that speaks against it, before a file is looked at."""
    refuse_unsafe(retention, table)
    horizon = retention.horizon_ms(int(time.time() * 1000))
    readers = Readers(spark, table.uri).read()
    refuse_unread(Commits(spark, table.uri), readers, horizon, retention.forced)


def plan_vacuum(spark: SparkSession, table: Location, retention: Retention) -> Unneeded:
    with settings(spark, settings_for(retention)):
        found = spark.sql(f"{statement(table, retention)} DRY RUN").collect()
    return existing(spark, table, (row["path"] for row in found))


def existing(spark: SparkSession, table: Location, paths: Iterable[str]) -> Unneeded:
    """The files among them; a folder that is empty has no size."""
    files = Files(spark, table.uri)
    sizes = ((path, files.size(path)) for path in paths)
    return Unneeded({path: size for path, size in sizes if size is not None})


def vacuum(spark: SparkSession, table: Location, lock: Location, retention: Retention) -> None:
    """Within a retention of days nothing can be in the way of a running stream, and nothing is locked: what its commits
    in flight write is younger. Below that, the commit lock sees to it that none is in flight.

    The readers are asked once more: one may have registered since the plan was printed.
    """
    with commit_lock(lock) if retention.needs_lock else nullcontext():
        refuse(spark, table, retention)
        with settings(spark, settings_for(retention)):
            spark.sql(statement(table, retention))


def statement(table: Location, retention: Retention) -> str:
    return f"VACUUM delta.{quoted(table.uri)} RETAIN {retention.hours} HOURS"


def settings_for(retention: Retention) -> dict[str, str]:
    """Delta ignores a retention that is said unless told not to. Its own entries in the log, VACUUM START and END, are
    commits, which only the lock makes safe on a local file system: without it there are none."""
    return {
        IGNORE_RETENTION: "false",
        CHECK_RETENTION: str(not retention.is_short).lower(),
        LOGGED: str(retention.needs_lock).lower(),
        LISTING_TASKS: "16",
        DELETE_IN_TASKS: "true",
    }
