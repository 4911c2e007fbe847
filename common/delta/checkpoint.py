"""A checkpoint of a table's log: who opens the table next reads one file instead of every commit since the last."""

import time
from dataclasses import dataclass

from pyspark.sql import SparkSession

from common.delta.lock import commit_lock
from common.errors import StateError
from common.settings.locations import Location
from common.spark.jvm import delta_log, delta_snapshot, java


@dataclass(frozen=True)
class Checkpoint:
    """Of which version it is, and how long it took; nothing where there was one already."""

    version: int
    seconds: float | None


def write_checkpoint(spark: SparkSession, table: Location, lock: Location) -> Checkpoint:
    """Of the newest version. Under the commit lock: else a commit's own checkpoint, written meanwhile, might be newer
    than the one that is then called the last."""
    with commit_lock(lock):
        began = time.monotonic()
        log, snapshot = delta_log(spark, table.uri), delta_snapshot(spark, table.uri)
        version = int(snapshot.version())
        if log.checkpointExistsAtVersion(version):
            return Checkpoint(version, None)
        log.checkpoint(snapshot, java(spark, "scala.Option").empty())
        # Delta keeps the reason to itself: after a commit, a missing checkpoint is no failure.
        if not log.checkpointExistsAtVersion(version):
            raise StateError(f"no checkpoint of version {version} could be written to {table}", "see the Spark log")
        return Checkpoint(version, time.monotonic() - began)
