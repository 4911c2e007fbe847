"""Creating a table, once: whoever does it again is told what is there."""

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.lock import commit_lock, job_lock
from common.errors import RegistryUnreachable, UsageError
from common.operations.base_load import refuse_foreign
from common.operations.empty_table import create_table, differences
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.spark.decode.factory import decoder_of
from common.spark.expressions import check_expressions

# For a look at the registry that nothing depends on.
PATIENCE_SECONDS = 5.0


def create_or_compare(spark: SparkSession, pipeline: Pipeline, table: Location, *, dry_run: bool) -> None:
    """A table that is there stays as it is; one that does not fit the pipeline is refused, with the difference."""
    if dry_run:
        check_expressions(spark, pipeline)
        check_schema(spark, pipeline)
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


def check_schema(spark: SparkSession, pipeline: Pipeline) -> None:
    """Compare the columns with the registry's schema. A registry that does not answer is no reason to refuse a file."""
    try:
        decoder_of(spark, pipeline, patience_seconds=PATIENCE_SECONDS)
    except RegistryUnreachable as error:
        print(f"Not checked against the registry's schema: {error.message}")


def compare(spark: SparkSession, pipeline: Pipeline, table: Location) -> None:
    if told := differences(spark, pipeline, table):
        more = f", and {len(told) - 1} more" if len(told) > 1 else ""
        raise UsageError(
            f"{table} is there and does not fit pipeline '{pipeline.name}': {told[0]}{more}",
            "correct the pipeline's file, or give another folder; nothing was changed",
        )
    print(f"{table} is there already and fits pipeline '{pipeline.name}'; nothing was changed")
