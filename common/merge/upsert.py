"""The commit point: one MERGE, or an empty append where there is nothing to merge."""

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession

from common.merge.quoting import quoted


def merge_latest(table: DeltaTable, changes: DataFrame, keys: Sequence[str], columns: Sequence[str]) -> None:
    """Update what is there, insert what is not. `changes` holds one row per key, its keys never null."""
    matches = " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)
    new_values: dict[str, str | Column] = {quoted(name): f"s.{quoted(name)}" for name in columns}
    updates = {name: value for name, value in new_values.items() if name not in {quoted(key) for key in keys}}
    (
        table.alias("t")
        .merge(changes.alias("s"), matches)
        .whenMatchedUpdate(set=updates)
        .whenNotMatchedInsert(values=new_values)
        .execute()
    )


def append_nothing(spark: SparkSession, path: str) -> None:
    """A commit that moves only the position."""
    schema = spark.read.format("delta").load(path).schema
    spark.createDataFrame([], schema).write.format("delta").mode("append").save(path)
