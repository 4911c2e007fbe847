"""Order a replayed record against the row and the deletes of its key that the table has now."""

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.deleted_keys import key_fields
from common.delta.lineage import LINEAGE_TYPE, is_later
from common.delta.side_fields import column_of
from common.model.merge_spec import LINEAGE
from common.settings.pipeline import Pipeline
from common.settings.target import POSITION
from common.spark.sql_text import quoted

# Temporary columns for the record's key: whether the table has a row, its order, and the newest remembered delete.
ROW_EXISTS = "_row_present"
ROW_ORIGIN = "_row_origin"
ROW_SEQUENCE = "_row_sequence"
DELETED_AT = "_deleted_at"
DELETED_KEY = "_deleted_key"


def with_row_of_key(
    records: DataFrame, table_rows: DataFrame, remembered: DataFrame | None, pipeline: Pipeline
) -> DataFrame:
    """Add what the table has of each record's key. It stays one row a record as long as the table has one row a key."""
    target = pipeline.target
    lineage = F.col(LINEAGE) if LINEAGE in table_rows.columns else F.lit(None).cast(LINEAGE_TYPE)
    sequence = F.lit(None) if target.ordering is None else F.col(target.ordering)
    rows = table_rows.select(
        F.struct(*target.keys).alias("_row_key"),
        F.lit(True).alias(ROW_EXISTS),  # noqa: FBT003
        lineage.alias(ROW_ORIGIN),
        sequence.alias(ROW_SEQUENCE),
    )
    with_rows = records.join(rows, F.expr(is_key("_row_key", pipeline)), "left").drop("_row_key")
    return with_delete_of_key(with_rows, remembered)


def with_delete_of_key(records: DataFrame, remembered: DataFrame | None) -> DataFrame:
    """Add a remembered delete of the record's key that came after the record; null where there is none.

    Deletes under former keys of the pipeline count too. Each is compared by the columns that were the key then.
    """
    if remembered is None:
        return records.withColumn(DELETED_AT, F.lit(None).cast(LINEAGE_TYPE))
    nothing = F.array().cast(T.ArrayType(LINEAGE_TYPE))
    deletes = [nothing]
    for number, shape in enumerate(shapes_of(remembered)):
        if known := known_columns(records, shape):
            rows, is_deleted = deletes_of_shape(remembered, shape, known, number)
            records = records.join(rows, is_deleted, "left")
            deletes.append(F.coalesce(F.col(rows.columns[-1]), nothing))
    with_deletes = records.withColumn(DELETED_AT, F.flatten(F.array(*deletes)))
    later = F.expr(f"get(filter({DELETED_AT}, d -> coalesce({is_later('d', LINEAGE)}, false)), 0)")
    return with_deletes.withColumn(DELETED_AT, later).drop(
        *(name for name in with_deletes.columns if name.startswith(DELETED_KEY))
    )


def shapes_of(remembered: DataFrame) -> list[list[str]]:
    """List the fields of each key that the pipeline has had."""
    names = key_fields(remembered)
    has = [F.col(f"key.{quoted(name)}").isNotNull() for name in names]
    rows = remembered.select(F.array(*has).alias("has")).distinct().collect()
    return sorted([name for name, is_there in zip(names, row["has"], strict=True) if is_there] for row in rows)


def known_columns(records: DataFrame, shape: Sequence[str]) -> dict[str, T.StructField]:
    """Return the records' column for each field of a key. A column that the pipeline no longer reads is left out."""
    columns = {field.name.lower(): field for field in records.schema}
    fields = {name: columns.get(column_of(name).lower()) for name in shape}
    return {name: field for name, field in fields.items() if field is not None}


def deletes_of_shape(
    remembered: DataFrame, shape: Sequence[str], known: Mapping[str, T.StructField], number: int
) -> tuple[DataFrame, Column]:
    """Return the deletes under one kind of key, one row a key, and the condition that joins them to a record.

    Where the pipeline no longer reads a column of that key, the others decide: it is better to leave out one record too
    many than to bring a deleted row back.
    """
    names = key_fields(remembered)
    is_shape = [F.col(f"key.{quoted(name)}").isNotNull() == F.lit(name in shape) for name in names]
    parts = {name: f"{DELETED_KEY}_{number}_{place}" for place, name in enumerate(known)}
    rows = (
        remembered.where(reduce(and_, is_shape))
        .groupBy(*(F.col(f"key.{quoted(name)}").alias(part) for name, part in parts.items()))
        .agg(F.collect_list(LINEAGE).alias(f"{DELETED_KEY}_{number}"))
    )
    same = [
        F.col(quoted(known[name].name)) == F.col(part).try_cast(known[name].dataType) for name, part in parts.items()
    ]
    return rows, reduce(and_, same)


def is_key(struct: str, pipeline: Pipeline) -> str:
    return " AND ".join(f"{quoted(key)} = {struct}.{quoted(key)}" for key in pipeline.target.keys)


def is_superseded(pipeline: Pipeline) -> Column:
    """True where something newer of the record's key is settled: a row, or a delete."""
    sequence = pipeline.target.sequence
    if sequence != POSITION:
        return F.coalesce(F.col(sequence) <= F.col(ROW_SEQUENCE), F.lit(False))  # noqa: FBT003
    by_row = F.expr(f"{ROW_EXISTS} AND NOT ({is_later(LINEAGE, ROW_ORIGIN)})")
    # Strictly later, because a tombstone that is replayed a second time finds itself among the remembered deletes.
    by_delete = F.expr(is_later(DELETED_AT, LINEAGE))
    return F.coalesce(by_row, F.lit(False)) | F.coalesce(by_delete, F.lit(False))  # noqa: FBT003


def has_unknown_order(pipeline: Pipeline) -> Column:
    """True where the key has a row, and nothing shows whether it is older or newer."""
    if pipeline.target.sequence != POSITION:
        return F.lit(False)  # noqa: FBT003
    return F.col(ROW_EXISTS).isNotNull() & F.expr(f"({is_later(LINEAGE, ROW_ORIGIN)}) IS NULL")
