"""Counts of a table, as the reader prints them."""

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.errors import NotADeltaTable, UsageError
from common.settings.locations import Location

GROUPS_SHOWN = 1000


def print_counts(spark: SparkSession, table: Location, columns: Sequence[str], version: int | None) -> None:
    rows = read_table(spark, table, version)
    unknown = sorted(set(columns) - set(rows.columns))
    if unknown:
        raise UsageError(f"{table} has no column '{unknown[0]}'", f"group by some of: {', '.join(rows.columns)}")
    print(f"Total number of rows in the delta table...{rows.count()}", flush=True)
    if columns:
        rows.groupBy(*columns).agg(F.count("*").alias("count")).orderBy(*columns).show(GROUPS_SHOWN, truncate=False)


def read_table(spark: SparkSession, table: Location, version: int | None) -> DataFrame:
    if not DeltaTable.isDeltaTable(spark, table.uri):
        raise NotADeltaTable(f"{table} is not a Delta table", "correct the path")
    reader = spark.read.format("delta")
    if version is None:
        return reader.load(table.uri)
    try:
        return reader.option("versionAsOf", version).load(table.uri)
    except AnalysisException as error:
        raise UsageError(
            f"{table} has no version {version} to read", "see its history for the versions it has"
        ) from error
