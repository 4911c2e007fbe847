"""A table and what stands beside it: maintenance is for all of them."""

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.deleted_keys import DELETED_KEYS_TABLE
from common.delta.side_tables import LATE_TABLE, QUARANTINE_TABLE
from common.settings.locations import Location, beside

BESIDE = (QUARANTINE_TABLE, LATE_TABLE, DELETED_KEYS_TABLE)


def tables_of(spark: SparkSession, table: Location) -> list[Location]:
    """The table first, then those beside it that are there."""
    side = [beside(table, suffix) for suffix in BESIDE]
    return [table, *(each for each in side if DeltaTable.isDeltaTable(spark, each.uri))]
