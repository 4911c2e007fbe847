"""VACUUM: delete the files that no version within the retention needs. The plan counts them first."""

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
# How many tasks list folders. The default is 10,000, however few folders there are: minutes for a small table.
LISTING_TASKS = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
# Otherwise the driver fetches the names with a job for each of the tasks.
DELETE_IN_TASKS = "spark.databricks.delta.vacuum.parallelDelete.enabled"


@dataclass(frozen=True)
class Unneeded:
    """The files that VACUUM would delete, with their sizes."""

    sizes: Mapping[str, int]

    @property
    def files(self) -> int:
        return len(self.sizes)

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())


def own_retention_hours(spark: SparkSession, table: Location) -> int:
    """Return the table's delta.deletedFileRetentionDuration, by default 7 days. A part of an hour counts as one."""
    log, snapshot = java(spark, "org.apache.spark.sql.delta.DeltaLog"), delta_snapshot(spark, table.uri)
    return -(-int(log.tombstoneRetentionMillis(snapshot.metadata())) // HOUR_MS)


def refuse(spark: SparkSession, table: Location, retention: Retention) -> None:
    """Refuse an unsafe VACUUM before a file is listed."""
    refuse_unsafe(retention, table)
    horizon = retention.horizon_ms(int(time.time() * 1000))
    readers = Readers(spark, table.uri).read()
    refuse_unread(Commits(spark, table.uri), readers, horizon, retention.forced)


def plan_vacuum(spark: SparkSession, table: Location, retention: Retention) -> Unneeded:
    with settings(spark, settings_for(retention)):
        rows = spark.sql(f"{statement(table, retention)} DRY RUN").collect()
    return existing(spark, table, (row["path"] for row in rows))


def existing(spark: SparkSession, table: Location, paths: Iterable[str]) -> Unneeded:
    """Keep the files among these paths that exist. An empty folder has no size."""
    files = Files(spark, table.uri)
    sizes = ((path, files.size(path)) for path in paths)
    return Unneeded({path: size for path, size in sizes if size is not None})


def vacuum(spark: SparkSession, table: Location, lock: Location, retention: Retention) -> None:
    """Run VACUUM. With a retention of days, nothing is locked: files of a stream's commits in flight are younger.

    With less, the commit lock makes sure that no commit is in flight. The readers are checked once more, because one
    may have registered since the plan was printed.
    """
    with commit_lock(lock) if retention.needs_lock else nullcontext():
        refuse(spark, table, retention)
        with settings(spark, settings_for(retention)):
            spark.sql(statement(table, retention))


def statement(table: Location, retention: Retention) -> str:
    return f"VACUUM delta.{quoted(table.uri)} RETAIN {retention.hours} HOURS"


def settings_for(retention: Retention) -> dict[str, str]:
    """Return the confs of a VACUUM. By default, Delta ignores the retention in the statement.

    VACUUM START and END in the log are commits, which only the lock makes safe on a local file system. So they are
    written only under the lock.
    """
    return {
        IGNORE_RETENTION: "false",
        CHECK_RETENTION: str(not retention.is_short).lower(),
        LOGGED: str(retention.needs_lock).lower(),
        LISTING_TASKS: "16",
        DELETE_IN_TASKS: "true",
    }
