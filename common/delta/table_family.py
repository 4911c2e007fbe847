"""A table and its side tables, because maintenance is for all of them."""

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.deleted_keys import DELETED_KEYS_TABLE
from common.delta.side_tables import LATE_TABLE, QUARANTINE_TABLE
from common.settings.locations import Location, side_table

SIDE_TABLES = (QUARANTINE_TABLE, LATE_TABLE, DELETED_KEYS_TABLE)


def tables_of(spark: SparkSession, table: Location) -> list[Location]:
    """Return the table first, then its side tables that exist."""
    side = [side_table(table, suffix) for suffix in SIDE_TABLES]
    return [table, *(each for each in side if DeltaTable.isDeltaTable(spark, each.uri))]
