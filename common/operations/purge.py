"""Forget deletes that nothing older can contradict any more, neither from the topic nor from quarantine."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from common.delta.deleted_keys import DELETED_KEYS_TABLE
from common.delta.ledger import Ledger
from common.delta.lock import commit_lock
from common.delta.side_tables import QUARANTINE_TABLE, is_own
from common.durations import seconds
from common.model.merge_spec import LINEAGE
from common.settings.locations import Location, side_table
from common.settings.pipeline import Pipeline

# The setting of a topic, by its cleanup policy, for how long it keeps a record or a delete.
SETTINGS = {"delete": "retention.ms", "compact": "delete.retention.ms"}


@dataclass(frozen=True)
class Memory:
    """The number of remembered deletes, and of those that are no longer needed."""

    remembered: int
    unneeded: int


def needed_seconds(settings: Mapping[str, str], pipeline: Pipeline) -> float:
    """Return the longer of the topic's retention and the late bound; infinity where nothing bounds the topic."""
    late = 0 if pipeline.late is None or pipeline.late.bound is None else seconds(pipeline.late.bound)
    policies = settings.get("cleanup.policy", "delete").split(",")
    kept = [int(settings.get(name, -1)) / 1000 for policy, name in SETTINGS.items() if policy in policies]
    return float("inf") if not kept or min(kept) < 0 else max(late, *kept)


class DeletedKeys:
    """The remembered deletes of one pipeline and table."""

    def __init__(self, spark: SparkSession, table: Location, ledger: Ledger) -> None:
        self._spark, self._table, self._ledger = spark, table, ledger

    def memory(self, age_seconds: float) -> Memory | None:
        """Count the remembered and the unneeded deletes; None where nothing was ever deleted."""
        path = side_table(self._table, DELETED_KEYS_TABLE).uri
        if not DeltaTable.isDeltaTable(self._spark, path):
            return None
        rows = self._spark.read.format("delta").load(path).where(is_own(self._ledger))
        counted = rows.agg(F.count("*").alias("rows"), F.count_if(self._is_unneeded(age_seconds)).alias("unneeded"))
        (counts,) = counted.collect()
        return Memory(counts["rows"], counts["unneeded"])

    def purge(self, age_seconds: float) -> None:
        """Delete the unneeded rows under the commit lock, because a batch writes its deletes to the same side table."""
        with commit_lock(self._table):
            path = side_table(self._table, DELETED_KEYS_TABLE).uri
            DeltaTable.forPath(self._spark, path).delete(is_own(self._ledger) & self._is_unneeded(age_seconds))

    def _is_unneeded(self, age_seconds: float) -> Column:
        if age_seconds == float("inf"):
            return F.lit(False)  # noqa: FBT003
        is_old = F.col("timestamp") < F.timestamp_seconds(F.lit(time.time() - age_seconds))
        oldest = self._oldest_quarantined()
        if oldest is None:
            return is_old
        # Compared by transaction and not by time, because producers' clocks differ. In one transaction, either may be
        # the older.
        read = F.struct(f"{LINEAGE}.epoch", f"{LINEAGE}.seq")
        return is_old & (read < F.struct(F.lit(oldest[0]).cast("int"), F.lit(oldest[1]).cast("bigint")))

    def _oldest_quarantined(self) -> tuple[int, int] | None:
        """Return epoch and transaction of the oldest quarantined record, whatever its state.

        A record that was discarded or replayed can be replayed again, and must not bring back a deleted row.
        """
        path = side_table(self._table, QUARANTINE_TABLE).uri
        if not DeltaTable.isDeltaTable(self._spark, path):
            return None
        rows = self._spark.read.format("delta").load(path).where(is_own(self._ledger))
        (row,) = rows.agg(F.min(F.struct("epoch", "seq")).alias("oldest")).collect()
        return None if row["oldest"] is None else (row["oldest"]["epoch"], row["oldest"]["seq"])
