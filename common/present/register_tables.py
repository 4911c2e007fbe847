"""Tables by name, in the catalog of one session: nothing of it is stored, and nothing is written to the tables."""

import sys

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.table_family import BESIDE
from common.errors import AlluviumError
from common.settings.locations import Location, beside
from common.settings.table_paths import named_tables
from common.spark.sql_text import literal, quoted


def register_tables(spark: SparkSession, tables: dict[str, Location]) -> list[str]:
    """Those that are there, and those beside them; gives their names."""
    candidates = {
        f"{name}{suffix}": beside(table, suffix) for name, table in tables.items() for suffix in ("", *BESIDE)
    }
    found = [name for name, table in candidates.items() if DeltaTable.isDeltaTable(spark, table.uri)]
    for name in found:
        spark.sql(f"CREATE TABLE {quoted(name)} USING delta LOCATION {literal(candidates[name].uri)}")
    return found


def announce_tables(spark: SparkSession) -> None:
    """For a person at a prompt: a pipeline file that is wrong is told, and the shell is there all the same."""
    try:
        found = register_tables(spark, named_tables())
    except AlluviumError as error:
        print(f"error: {error}", file=sys.stderr)
        return
    print(f"Tables: {', '.join(found) or 'none of conf/pipelines is there yet'}")
