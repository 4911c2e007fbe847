"""How a record that comes again stands against what the table has got to know of its key meanwhile."""

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.merge.origin import LINEAGE, ORIGIN, has_lineage, is_later
from common.merge.quoting import quoted
from common.merge.upsert import by_sequence
from common.settings.pipeline import POSITION, Pipeline

# What the table has of the record's key: whether there is a row, its order, and the newest delete that is remembered.
PRESENT = "_row_present"
ROW_ORIGIN = "_row_origin"
ROW_SEQUENCE = "_row_sequence"
DELETED_AT = "_deleted_at"


def with_row_of_key(
    records: DataFrame, table: DeltaTable, remembered: DataFrame | None, pipeline: Pipeline
) -> DataFrame:
    """Adds what the table says of each record's key; one row a record as long as the table has one row a key."""
    target = pipeline.target
    lineage = F.col(LINEAGE) if has_lineage(table) else F.lit(None).cast(ORIGIN)
    sequence = F.lit(None) if target.sequence == POSITION else F.col(target.sequence)
    rows = table.toDF().select(
        F.struct(*target.keys).alias("_row_key"),
        F.lit(True).alias(PRESENT),  # noqa: FBT003
        lineage.alias(ROW_ORIGIN),
        sequence.alias(ROW_SEQUENCE),
    )
    found = records.join(rows, F.expr(is_key("_row_key", pipeline)), "left").drop("_row_key")
    if remembered is None:
        return found.withColumn(DELETED_AT, F.lit(None).cast(ORIGIN))
    deleted = remembered.select(F.col("key").alias("_deleted_key"), F.col(LINEAGE).alias(DELETED_AT))
    return found.join(deleted, F.expr(is_key("_deleted_key", pipeline)), "left").drop("_deleted_key")


def is_key(struct: str, pipeline: Pipeline) -> str:
    return " AND ".join(f"{quoted(key)} = {struct}.{quoted(key)}" for key in pipeline.target.keys)


def is_superseded(pipeline: Pipeline) -> Column:
    """Something newer of its key has been settled: a row, or a delete."""
    sequence = pipeline.target.sequence
    if sequence != POSITION:
        return F.coalesce(F.col(sequence) <= F.col(ROW_SEQUENCE), F.lit(False))  # noqa: FBT003
    by_row = F.expr(f"{PRESENT} AND NOT ({is_later(LINEAGE, ROW_ORIGIN)})")
    # Strictly later: a tombstone that is replayed a second time meets itself in the memory.
    by_delete = F.expr(is_later(DELETED_AT, LINEAGE))
    return F.coalesce(by_row, F.lit(False)) | F.coalesce(by_delete, F.lit(False))  # noqa: FBT003


def is_unordered(pipeline: Pipeline) -> Column:
    """There is a row, and nothing says whether it is older or newer."""
    if pipeline.target.sequence != POSITION:
        return F.lit(False)  # noqa: FBT003
    return F.col(PRESENT).isNotNull() & F.expr(f"({is_later(LINEAGE, ROW_ORIGIN)}) IS NULL")


def replay_guard(table: DeltaTable, pipeline: Pipeline, *, overwrite: bool) -> str:
    """The same once more, for the MERGE itself: a row that came between is not replaced by what is older."""
    if pipeline.target.sequence != POSITION:
        return by_sequence(pipeline.target.sequence)
    unknown = str(overwrite).lower()
    return f"COALESCE({is_later(f's.{LINEAGE}', f't.{LINEAGE}')}, {unknown})" if has_lineage(table) else unknown
