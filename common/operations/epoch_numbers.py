"""Number the next epoch: it is greater than every epoch of the table and of its side tables."""

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common.delta.deleted_keys import DELETED_KEYS_TABLE
from common.delta.ledger import Ledger
from common.delta.side_tables import LATE_TABLE, QUARANTINE_TABLE
from common.model.merge_spec import LINEAGE

# The column of each side table that has the epoch of a row.
EPOCHS = {QUARANTINE_TABLE: "epoch", LATE_TABLE: "epoch", DELETED_KEYS_TABLE: f"{LINEAGE}.epoch"}


def next_epoch(spark: SparkSession, table: str, ledger: Ledger) -> int:
    return max(ledger.greatest_epoch(), greatest_side_epoch(spark, table, ledger.pipeline)) + 1


def greatest_side_epoch(spark: SparkSession, table: str, pipeline: str) -> int:
    """Return the greatest epoch in the side tables, also of an earlier table at this path; 0 without any."""
    return max((greatest_epoch_in(spark, f"{table}{suffix}", pipeline, name) for suffix, name in EPOCHS.items()))


def greatest_epoch_in(spark: SparkSession, path: str, pipeline: str, column: str) -> int:
    if not DeltaTable.isDeltaTable(spark, path):
        return 0
    rows = spark.read.format("delta").load(path).where(F.col("pipeline") == pipeline)
    (greatest,) = rows.agg(F.max(column).alias("epoch")).collect()
    return greatest["epoch"] or 0
