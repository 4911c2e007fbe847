"""Write a checkpoint of a table's log: the next reader opens one file instead of every commit since the last one."""

import time
from dataclasses import dataclass

from pyspark.sql import SparkSession

from common.delta.lock import commit_lock
from common.errors import StateError
from common.settings.locations import Location
from common.spark.jvm import delta_log, delta_snapshot, java


@dataclass(frozen=True)
class Checkpoint:
    """The version of a checkpoint, and the seconds it took; None where there was one already."""

    version: int
    seconds: float | None


def write_checkpoint(spark: SparkSession, table: Location, lock: Location) -> Checkpoint:
    """Write a checkpoint of the newest version, under the commit lock.

    Without the lock, a commit might write a newer checkpoint meanwhile, and this older one would be recorded as the
    last.
    """
    with commit_lock(lock):
        began = time.monotonic()
        log, snapshot = delta_log(spark, table.uri), delta_snapshot(spark, table.uri)
        version = int(snapshot.version())
        if log.checkpointExistsAtVersion(version):
            return Checkpoint(version, None)
        log.checkpoint(snapshot, java(spark, "scala.Option").empty())
        # Delta does not report the reason, because a missing checkpoint after a commit is no failure to it.
        if not log.checkpointExistsAtVersion(version):
            raise StateError(f"no checkpoint of version {version} could be written to {table}", "see the Spark log")
        return Checkpoint(version, time.monotonic() - began)
