"""Create a table, or compare the one that exists with the pipeline."""

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

# The bound for asking the registry in a dry run, which does not depend on the answer.
PATIENCE_SECONDS = 5.0


def create_or_compare(spark: SparkSession, pipeline: Pipeline, table: Location, *, dry_run: bool) -> None:
    """Create the table. One that exists stays as it is, and is refused with the difference if it does not fit."""
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
    if problems := differences(spark, pipeline, table):
        more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
        raise UsageError(
            f"{table} is there and does not fit pipeline '{pipeline.name}': {problems[0]}{more}",
            "correct the pipeline's file, or give another folder; nothing was changed",
        )
    print(f"{table} is there already and fits pipeline '{pipeline.name}'; nothing was changed")
