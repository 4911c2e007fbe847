"""Alter a table for an operator, in turn with the jobs that write to it."""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from common.delta.lock import commit_lock
from common.engine.table_fit import alter_table
from common.present.console import NOTHING_CHANGED
from common.settings.locations import Location


def alter(spark: SparkSession, table: Location, clauses: Sequence[str], *, execute: bool) -> None:
    """Print each statement; run it only when told to."""
    for clause in clauses:
        print(f"ALTER TABLE {table} {clause}")
    if not execute:
        print(NOTHING_CHANGED)
        return
    # A running job waits for the lock, and compares its pipeline with the altered table before its next commit.
    with commit_lock(table):
        for clause in clauses:
            alter_table(spark, table, clause)
    print("Done.")
