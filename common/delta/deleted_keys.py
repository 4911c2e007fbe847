"""The side table of deleted keys: a deleted row cannot show that it is newer than an event that comes again.

It has one row a key, with the newest tombstone of the key. It is written before the commit that deletes. If that commit
never comes, the tombstone is read again, and recording it twice changes nothing.

A pipeline may get other keys, or keys of another type. A recorded key keeps the fields that it had: a null field was
not part of the key then.
"""

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.lineage import is_later
from common.delta.side_fields import fitting_struct, stored_struct
from common.model.disposition import DELETED
from common.model.merge_spec import LINEAGE
from common.model.record import RECORD
from common.spark.sql_text import quoted
from common.spark.validate.timestamps import readable

DELETED_KEYS_TABLE = "_deleted_keys"


def record_deleted(changes: DataFrame, table: str, table_id: str, pipeline: str, keys: Sequence[str]) -> None:
    """Record the tombstones among the changes, the newest of each key.

    `changes` have their keys, `_deleted`, `_alluvium` and their record. Those of one key come from one partition.
    """
    tombstones = changes.where(F.col(DELETED))
    if tombstones.isEmpty():
        return
    time = readable(F.col(f"{RECORD}.timestamp"))
    newest = F.max_by(F.struct(F.col(LINEAGE), time.alias("timestamp")), F.col(f"{RECORD}.offset"))
    remembered = (
        tombstones.groupBy(F.struct(*keys).alias("key"))
        .agg(newest.alias("newest"))
        .select(F.lit(pipeline).alias("pipeline"), F.lit(table_id).alias("table_id"), "key", "newest.*")
    )
    merge_tombstones(remembered, f"{table}{DELETED_KEYS_TABLE}", keys)


def merge_tombstones(tombstones: DataFrame, path: str, keys: Sequence[str]) -> None:
    spark = tombstones.sparkSession
    if not DeltaTable.isDeltaTable(spark, path):
        tombstones.write.format("delta").save(path)
        return
    fitting = with_stored_fields(tombstones, stored_struct(spark, path, "key"), keys)
    add_fields(fitting, path)
    # Null-safe, because fields that are not part of the key are null in both.
    fields = (f"key.{quoted(name)}" for name in key_fields(fitting))
    same = " AND ".join(["t.pipeline = s.pipeline", "t.table_id = s.table_id", *(f"t.{f} <=> s.{f}" for f in fields)])
    (
        DeltaTable.forPath(spark, path)
        .alias("t")
        .merge(fitting.alias("s"), same)
        .whenMatchedUpdateAll(condition=is_later(f"s.{LINEAGE}", f"t.{LINEAGE}"))
        .whenNotMatchedInsertAll()
        .execute()
    )


def with_stored_fields(tombstones: DataFrame, stored: T.StructType, keys: Sequence[str]) -> DataFrame:
    """Give each key the form of the stored keys, with further fields for what is new in it."""
    kinds = {key: tombstones.select(f"key.{quoted(key)}").schema[0].dataType for key in keys}
    return tombstones.withColumn("key", fitting_struct(kinds, stored, lambda key: F.col(f"key.{quoted(key)}")))


def add_fields(fitting: DataFrame, path: str) -> None:
    """Add the fields that the side table lacks, in a commit of its own, because a MERGE would refuse them."""
    stored = stored_struct(fitting.sparkSession, path, "key")
    if len(key_fields(fitting)) > len(stored.names):
        fitting.limit(0).write.format("delta").mode("append").option("mergeSchema", "true").save(path)


def key_fields(remembered: DataFrame) -> list[str]:
    key = remembered.schema["key"].dataType
    assert isinstance(key, T.StructType)  # noqa: S101  the engine itself has made it one
    return key.names


def read_deleted(spark: SparkSession, table: str, table_id: str, pipeline: str) -> DataFrame | None:
    """Read the recorded deletes of a pipeline; None where nothing was ever deleted."""
    path = f"{table}{DELETED_KEYS_TABLE}"
    if not DeltaTable.isDeltaTable(spark, path):
        return None
    remembered = spark.read.format("delta").load(path)
    return remembered.where((F.col("pipeline") == pipeline) & (F.col("table_id") == table_id))
