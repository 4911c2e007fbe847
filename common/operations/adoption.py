"""Decide whether a pipeline may begin an epoch on a table: the columns must fit, and no other pipeline may write it."""

from pyspark.sql import SparkSession

from common.delta.ledger import Ledger, join_epochs
from common.engine.table_fit import TableFit
from common.engine.table_keys import TableKeys
from common.errors import SchemaMismatch, StateError
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.settings.remedies import again


def refuse_foreign_table(
    spark: SparkSession, pipeline: Pipeline, table: Location, ledger: Ledger, *, adopt: bool
) -> None:
    """Refuse a table whose columns do not fit, and one that another pipeline writes, unless the operator shares it."""
    is_first = not ledger.committed()
    others = ledger.other_pipelines() if is_first else {}
    refuse_misfit(spark, pipeline, table, join_epochs(others))
    if others and not adopt:
        raise StateError(
            f"{table} has positions of pipeline {join_epochs(others)} and none of '{pipeline.name}'",
            f"name the table's own pipeline with --pipeline, or let both write to it: {again('--adopt')}",
        )
    if is_first:
        TableKeys(spark, pipeline, table).prove("it was filled by somebody else")


def refuse_misfit(spark: SparkSession, pipeline: Pipeline, table: Location, others: str) -> None:
    try:
        TableFit(spark, pipeline, table)
    except SchemaMismatch as error:
        if not others:
            raise
        raise SchemaMismatch(
            f"{error.message}; pipeline {others} writes it",
            "name the table's own pipeline with --pipeline, or correct the path",
        ) from error
