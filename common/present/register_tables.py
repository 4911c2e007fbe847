"""Name tables in the catalog of one session. No name is stored, and nothing is written to the tables."""

import sys

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.table_family import SIDE_TABLES
from common.errors import AlluviumError
from common.settings.locations import Location, side_table
from common.settings.table_paths import named_tables
from common.spark.sql_text import literal, quoted


def register_tables(spark: SparkSession, tables: dict[str, Location]) -> list[str]:
    """Register the tables and side tables that exist, and return their names."""
    candidates = {
        f"{name}{suffix}": side_table(table, suffix) for name, table in tables.items() for suffix in ("", *SIDE_TABLES)
    }
    names = [name for name, table in candidates.items() if DeltaTable.isDeltaTable(spark, table.uri)]
    for name in names:
        spark.sql(f"CREATE TABLE {quoted(name)} USING delta LOCATION {literal(candidates[name].uri)}")
    return names


def announce_tables(spark: SparkSession) -> None:
    """Print the names for a person at a prompt, or the error of a pipeline file: the shell starts all the same."""
    try:
        names = register_tables(spark, named_tables())
    except AlluviumError as error:
        print(f"error: {error}", file=sys.stderr)
        return
    print(f"Tables: {', '.join(names) or 'none of conf/pipelines is there yet'}")
