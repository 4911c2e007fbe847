"""The number of the next epoch: greater than every one that the table or those beside it have ever seen."""

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common.delta.deleted_keys import DELETED_KEYS_TABLE
from common.delta.ledger import Ledger
from common.delta.side_tables import LATE_TABLE, QUARANTINE_TABLE
from common.model.merge_spec import LINEAGE

# Where the rows of a table beside the table say which epoch wrote them.
EPOCHS = {QUARANTINE_TABLE: "epoch", LATE_TABLE: "epoch", DELETED_KEYS_TABLE: f"{LINEAGE}.epoch"}


def next_epoch(spark: SparkSession, table: str, ledger: Ledger) -> int:
    return max(ledger.greatest_epoch(), greatest_epoch_beside(spark, table, ledger.pipeline)) + 1


def greatest_epoch_beside(spark: SparkSession, table: str, pipeline: str) -> int:
    """By the rows of the tables beside it, also those of a table that stood at this path before; 0 without any."""
    return max((greatest_epoch_in(spark, f"{table}{suffix}", pipeline, name) for suffix, name in EPOCHS.items()))


def greatest_epoch_in(spark: SparkSession, path: str, pipeline: str, column: str) -> int:
    if not DeltaTable.isDeltaTable(spark, path):
        return 0
    rows = spark.read.format("delta").load(path).where(F.col("pipeline") == pipeline)
    (found,) = rows.agg(F.max(column).alias("epoch")).collect()
    return found["epoch"] or 0
