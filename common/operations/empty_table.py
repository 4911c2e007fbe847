"""Create an empty table at the beginning of an epoch, or describe how an existing one differs from its pipeline."""

from collections.abc import Iterator

from pyspark.sql import SparkSession

from common.delta.open_ledger import open_ledger
from common.engine.declared import declared_schema, no_rows
from common.engine.schema_comparison import TableShape, compare
from common.engine.table_fit import metadata_of
from common.model.position import first_position
from common.operations.base_load import write_first
from common.operations.epoch_numbers import next_epoch
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.spark.expressions import check_expressions


def create_table(spark: SparkSession, pipeline: Pipeline, table: Location) -> None:
    """Create the table without rows. A job on it reads its topic from the first record there is."""
    check_expressions(spark, pipeline)
    ledger = open_ledger(spark, table.uri, pipeline.name)
    position = first_position(pipeline.name, next_epoch(spark, table.uri, ledger), [pipeline.source.topic])
    write_first(spark, pipeline, no_rows(spark, pipeline), table, position, overwrite=False)
    ledger.copy(position)


def differences(spark: SparkSession, pipeline: Pipeline, table: Location) -> list[str]:
    """Describe how the table differs from what the pipeline declares; nothing where it fits."""
    check_expressions(spark, pipeline)
    shape = TableShape.parse(metadata_of(spark, table))
    problems = [each.what for each in compare(pipeline, declared_schema(spark, pipeline), shape)]
    problems += of_properties(pipeline, shape)
    if open_ledger(spark, table.uri, pipeline.name).epoch() is None:
        problems.append(f"it has no position of pipeline '{pipeline.name}'")
    return problems


def of_properties(pipeline: Pipeline, table: TableShape) -> Iterator[str]:
    for name, value in pipeline.target.properties.items():
        if table.properties.get(name, "").lower() != value.lower():
            yield f"property {name} is {table.properties.get(name, 'not set')}, not {value}"
