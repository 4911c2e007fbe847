"""An empty table as its pipeline declares it, at the beginning of its first epoch; or how one that is there differs."""

from collections.abc import Iterator, Mapping

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession

from common.ledger.delta import open_ledger
from common.ledger.position import first_position
from common.merge.origin import LINEAGE, ORIGIN
from common.pipeline.base_load import write_first
from common.pipeline.expressions import check_expressions
from common.pipeline.judge import with_derived
from common.pipeline.numbering import next_epoch
from common.settings.locations import Location
from common.settings.pipeline import Pipeline


def create_table(spark: SparkSession, pipeline: Pipeline, table: Location) -> None:
    """Without rows; a job on it reads its topic from the first record there is."""
    ledger = open_ledger(spark, table.uri, pipeline.name)
    position = first_position(pipeline.name, next_epoch(spark, table.uri, ledger), pipeline.source.topic)
    write_first(spark, pipeline, no_rows(spark, pipeline), table, position, overwrite=False)
    ledger.copy(position)


def no_rows(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """None, with the declared columns and the derived ones, in their order."""
    check_expressions(spark, pipeline)
    return with_derived(spark.createDataFrame([], pipeline.source.ddl), pipeline)


def differences(spark: SparkSession, pipeline: Pipeline, table: Location) -> list[str]:
    """How the table differs from what the pipeline declares, in words; none where it fits."""
    found = DeltaTable.forPath(spark, table.uri)
    details = found.detail().select("partitionColumns", "properties").first()
    assert details is not None  # noqa: S101  a table has exactly one
    wanted = {field.name: field.dataType.simpleString() for field in no_rows(spark, pipeline).schema}
    stands = {field.name: field.dataType.simpleString() for field in found.toDF().schema}
    # Rows may keep their origin although the pipeline no longer says so, and get it with the next batch once it does.
    if LINEAGE in stands:
        wanted[LINEAGE] = ORIGIN.simpleString()
    told = [*of_columns(wanted, stands), *of_layout(pipeline, details)]
    if open_ledger(spark, table.uri, pipeline.name).epoch() is None:
        told.append(f"it has no position of pipeline '{pipeline.name}'")
    return told


def of_columns(wanted: Mapping[str, str], stands: Mapping[str, str]) -> Iterator[str]:
    for name, kind in wanted.items():
        if name not in stands:
            yield f"column '{name}' is missing"
        elif stands[name] != kind:
            yield f"column '{name}' is {stands[name]}, not {kind}"
    for name in stands:
        if name not in wanted:
            yield f"column '{name}' is not declared"


def of_layout(pipeline: Pipeline, details: Row) -> Iterator[str]:
    stands, wanted = details["partitionColumns"], pipeline.target.partition_by
    if stands != wanted:
        yield f"it is partitioned by {spoken(stands)}, not by {spoken(wanted)}"
    for name, value in pipeline.target.properties.items():
        if details["properties"].get(name) != value:
            yield f"property {name} is {details['properties'].get(name, 'not set')}, not {value}"


def spoken(columns: list[str]) -> str:
    return ", ".join(columns) or "nothing"
