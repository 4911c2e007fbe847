"""The memory of deleted keys: a row that is gone cannot say that it is newer than an event that comes again.

One row a key, its newest tombstone. Written before the commit that deletes: if that never comes, the tombstone is read
again, and remembering it twice changes nothing.
"""

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.divide.moments import readable
from common.divide.tombstone import DELETED
from common.merge.origin import LINEAGE, is_later
from common.merge.quoting import quoted
from common.read.kafka import RECORD

DELETED_KEYS_TABLE = "_deleted_keys"


def remember_deleted(changes: DataFrame, table: str, table_id: str, pipeline: str, keys: Sequence[str]) -> None:
    """`changes` have their keys, `_deleted`, `_alluvium` and their record; those of a key come from one partition."""
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
    names = ("pipeline", "table_id", *(f"key.{quoted(key)}" for key in keys))
    same = " AND ".join(f"t.{name} = s.{name}" for name in names)
    (
        DeltaTable.forPath(spark, path)
        .alias("t")
        .merge(tombstones.alias("s"), same)
        .whenMatchedUpdateAll(condition=is_later(f"s.{LINEAGE}", f"t.{LINEAGE}"))
        .whenNotMatchedInsertAll()
        .execute()
    )


def read_deleted(spark: SparkSession, table: str, table_id: str, pipeline: str) -> DataFrame | None:
    """None where nothing was ever deleted."""
    path = f"{table}{DELETED_KEYS_TABLE}"
    if not DeltaTable.isDeltaTable(spark, path):
        return None
    remembered = spark.read.format("delta").load(path)
    return remembered.where((F.col("pipeline") == pipeline) & (F.col("table_id") == table_id))
