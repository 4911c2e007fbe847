"""The commit point: one MERGE, or an empty append where there is nothing to merge."""

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from common.merge.quoting import quoted
from common.settings.pipeline import POSITION


def merge_latest(
    table: DeltaTable, changes: DataFrame, keys: Sequence[str], columns: Sequence[str], sequence: str
) -> None:
    """Update what is older, insert what is not there. `changes` holds one row per key, its keys never null."""
    values: dict[str, str | Column] = {quoted(name): f"s.{quoted(name)}" for name in columns}
    updates = {quoted(name): values[quoted(name)] for name in columns if name not in keys}
    # The guard stands only here: in ON, an older event would not match and be inserted as a second row.
    newer = (
        None if sequence == POSITION else f"t.{quoted(sequence)} IS NULL OR s.{quoted(sequence)} > t.{quoted(sequence)}"
    )
    (
        table.alias("t")
        .merge(changes.alias("s"), same_key(keys))
        .whenMatchedUpdate(condition=newer, set=updates)
        .whenNotMatchedInsert(values=values)
        .execute()
    )


def count_superseded(table: DeltaTable, changes: DataFrame, keys: Sequence[str], sequence: str) -> int:
    """Events that a newer row of the table keeps out, counted on their own and not as what the MERGE left over."""
    if sequence == POSITION:
        return 0
    on = f"({same_key(keys)}) AND s.{quoted(sequence)} <= t.{quoted(sequence)}"
    return changes.alias("s").join(table.toDF().alias("t"), on=F.expr(on), how="left_semi").count()


def same_key(keys: Sequence[str]) -> str:
    return " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)


def append_nothing(spark: SparkSession, path: str) -> None:
    """A commit that moves only the position."""
    schema = spark.read.format("delta").load(path).schema
    spark.createDataFrame([], schema).write.format("delta").mode("append").save(path)
