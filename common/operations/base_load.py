"""The base load: write the first rows of a table, and begin an epoch in the same commit."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.lineage import base_lineage, without_statistics
from common.delta.lock import commit_lock
from common.delta.open_ledger import open_ledger, transaction
from common.engine.table_keys import first_unclear_key
from common.errors import UsageError
from common.model.disposition import MESSAGE, REASON
from common.model.merge_spec import LINEAGE
from common.model.position import Position, first_position
from common.operations.epoch_numbers import next_epoch
from common.rules.key_uniqueness import key_of
from common.settings.kinds import JSON, is_plain, precision_and_scale
from common.settings.locations import Location, foreign_files, is_delta_table
from common.settings.pipeline import Pipeline
from common.settings.remedies import command
from common.spark.classify import with_derived, with_reason
from common.spark.decode.json import is_one_json
from common.spark.expressions import check_expressions
from common.spark.validate.unfit import unfit_values

REPLACE = "submit/temperatures_delta_processing.sh --overwrite --pipeline PIPELINE INPUT_DIR DELTA_DIR"

NESTED = (T.StructType, T.ArrayType, T.MapType, T.VariantType)


def refuse_existing(table: Location, *, overwrite: bool) -> None:
    """Refuse a table that exists, because loading twice doubles every row, and a folder with other files."""
    if is_delta_table(table):
        if not overwrite:
            raise UsageError(
                f"{table} is a Delta table already",
                f"load into another folder, or replace it and begin a new epoch with {command(REPLACE)}",
            )
    else:
        refuse_foreign(table)


def refuse_foreign(table: Location) -> None:
    if table.local is not None and foreign_files(table.local):
        raise UsageError(f"{table} is not empty and not a Delta table", "give a folder of its own to the table")


def load_base(spark: SparkSession, pipeline: Pipeline, source: Location, table: Location, *, overwrite: bool) -> int:
    """Write the parquet rows of `source` as the table, and return their number. An existing table gets a new epoch."""
    check_expressions(spark, pipeline)
    ledger = open_ledger(spark, table.uri, pipeline.name)
    rows = with_derived(declared(spark.read.parquet(source.uri), pipeline, source), pipeline)
    refuse_unfit_values(rows, pipeline, source)
    refuse_unclear_keys(rows, pipeline, source)
    refuse_other_than_json(rows, pipeline, source)
    # Maintenance may be writing an existing table, and the JVM of a killed load a new one.
    with commit_lock(table), emptied_on_failure(table):
        refuse_existing(table, overwrite=overwrite)
        position = first_position(pipeline.name, next_epoch(spark, table.uri, ledger), [pipeline.source.topic])
        write_first(spark, pipeline, rows, table, position, overwrite=overwrite)
    ledger.copy(position)
    return spark.read.format("delta").load(table.uri).count()


@contextmanager
def emptied_on_failure(table: Location) -> Iterator[None]:
    """Remove the files of a load that never committed, because the next load would refuse a folder with other files.

    Files that were there before stay.
    """
    before = set() if table.local is None else set(foreign_files(table.local))
    try:
        yield
    except BaseException:
        if table.local is not None and not is_delta_table(table):
            for name in set(foreign_files(table.local)) - before:
                remove(table.local / name)
        raise


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_first(
    spark: SparkSession, pipeline: Pipeline, rows: DataFrame, table: Location, position: Position, *, overwrite: bool
) -> None:
    """Write the table as the pipeline declares it: these rows and the beginning of an epoch in one commit."""
    target = pipeline.target
    properties = dict(target.properties)
    if target.lineage:
        properties |= without_statistics(rows, target.partition_by, properties)
        rows = rows.withColumn(LINEAGE, base_lineage(position))
    with transaction(spark, position):
        (
            clustered(rows, target.partition_by)
            .write.format("delta")
            .mode("overwrite" if overwrite else "error")
            .option("overwriteSchema", overwrite)
            .options(**properties)
            .partitionBy(*target.partition_by)
            .save(table.uri)
        )


def refuse_unfit_values(rows: DataFrame, pipeline: Pipeline, source: Location) -> None:
    """Refuse what would turn an event away: a year that does not have four digits, or a text that is not UTF-8."""
    rejections = [rejection for field in rows.schema for rejection in unfit_values(field.name, field.dataType)]
    if not rejections:
        return
    unfit = with_reason(rows, rejections).where(F.col(REASON).isNotNull())
    # Only the message is collected, because Python could not read the values.
    for row in unfit.select(MESSAGE).limit(1).collect():
        raise UsageError(
            f"the parquet files of {source}: {row[MESSAGE]}",
            f"load files without such values, or derive the column otherwise in pipeline '{pipeline.name}'",
        )


def refuse_unclear_keys(rows: DataFrame, pipeline: Pipeline, source: Location) -> None:
    """Refuse null keys and keys that stand twice. They are canonical here, so that two spellings of a key are one."""
    if problem := first_unclear_key(rows, pipeline):
        raise UsageError(f"the parquet files of {source}: {problem}", "load files with one row for each key")


def declared(rows: DataFrame, pipeline: Pipeline, source: Location) -> DataFrame:
    """Select the declared columns in the declared types, and leave out other columns of the files."""
    missing = [name for name in pipeline.source.columns if name not in rows.columns]
    if missing:
        raise UsageError(
            f"the parquet files of {source} have no column '{missing[0]}'",
            f"pipeline '{pipeline.name}' reads: {', '.join(pipeline.source.columns)}",
        )
    refuse_rounded_keys(rows, pipeline, source)
    refuse_other_nesting(rows, pipeline, source)
    return rows.select(*(F.col(name).cast(kind).alias(name) for name, kind in pipeline.source.types.items()))


def refuse_rounded_keys(rows: DataFrame, pipeline: Pipeline, source: Location) -> None:
    """Refuse decimal keys that would lose digits: such a key becomes another one, perhaps that of another row."""
    for key in pipeline.target.keys:
        kind = pipeline.source.columns.get(key, "")
        if not kind.startswith("decimal"):
            continue
        in_files = rows.schema[key].dataType
        if not keeps_digits(in_files, kind):
            raise UsageError(
                f"the parquet files of {source}: key '{key}' is {in_files.simpleString()}, and {kind} would round it",
                f"declare in pipeline '{pipeline.name}' as many decimals as the files have",
            )


def refuse_other_nesting(rows: DataFrame, pipeline: Pipeline, source: Location) -> None:
    """Refuse nested columns of another type than declared.

    A cast would match the members of a struct by their order and not by their names, and would turn an array into a
    text that is no JSON.
    """
    as_declared = rows.sparkSession.createDataFrame([], pipeline.source.ddl).schema
    for name, kind in pipeline.source.columns.items():
        in_files, wanted = (schema[name].dataType for schema in (rows.schema, as_declared))
        if in_files.simpleString() != wanted.simpleString() and (isinstance(in_files, NESTED) or not is_plain(kind)):
            what = f"column '{name}' is {in_files.simpleString()}, not {wanted.simpleString()}"
            raise UsageError(
                f"the parquet files of {source}: {what}",
                f"write it as pipeline '{pipeline.name}' declares it, or declare it as it is",
            )


def refuse_other_than_json(rows: DataFrame, pipeline: Pipeline, source: Location) -> None:
    """Refuse a `json` column with a value that is not one JSON text or null."""
    for name, kind in pipeline.source.columns.items():
        if kind != JSON:
            continue
        for row in rows.where(F.col(name).isNotNull() & ~is_one_json(F.col(name))).limit(1).collect():
            raise UsageError(
                f"the parquet files of {source}: column '{name}' of key {key_of(row, pipeline.target.keys)} is no JSON",
                f"correct it, or declare '{name}' as string",
            )


def keeps_digits(in_files: T.DataType, decimal: str) -> bool:
    _, scale = precision_and_scale(decimal)
    return isinstance(in_files, T.IntegralType) or (isinstance(in_files, T.DecimalType) and in_files.scale <= scale)


def clustered(rows: DataFrame, partition_by: list[str]) -> DataFrame:
    """Repartition the rows, so that a partition gets one file instead of one from each task."""
    return rows.repartition(*partition_by) if partition_by else rows
