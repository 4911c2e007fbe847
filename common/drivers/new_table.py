"""Creating a table, once: whoever does it again is told what is there."""

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.errors import UsageError
from common.ledger.lock import commit_lock, job_lock
from common.pipeline.base_load import refuse_foreign
from common.pipeline.new_table import create_table, differences
from common.settings.locations import Location
from common.settings.pipeline import Pipeline


def create_or_compare(spark: SparkSession, pipeline: Pipeline, table: Location, *, dry_run: bool) -> None:
    """A table that is there stays as it is; one that does not fit the pipeline is refused, with the difference."""
    if DeltaTable.isDeltaTable(spark, table.uri):
        compare(spark, pipeline, table)
        return
    refuse_foreign(table)
    if dry_run:
        print(f"Would create {table} for pipeline '{pipeline.name}'")
        return
    with job_lock(table), commit_lock(table):
        create_table(spark, pipeline, table)
    print(f"Created {table} for pipeline '{pipeline.name}', without rows")


def compare(spark: SparkSession, pipeline: Pipeline, table: Location) -> None:
    if told := differences(spark, pipeline, table):
        more = f", and {len(told) - 1} more" if len(told) > 1 else ""
        raise UsageError(
            f"{table} is there and does not fit pipeline '{pipeline.name}': {told[0]}{more}",
            "correct the pipeline's file, or give another folder; nothing was changed",
        )
    print(f"{table} is there already and fits pipeline '{pipeline.name}'; nothing was changed")
