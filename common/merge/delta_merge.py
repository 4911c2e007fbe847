"""The commit point: one MERGE, or an empty append where there is nothing to merge."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.lineage import LINEAGE, has_lineage
from common.delta.log import Commits
from common.delta.sql_text import quoted
from common.merge.alignment import AS_DECLARED, Alignment, fills_itself
from common.settings.pipeline import POSITION, Pipeline
from common.spark.validate.tombstone import DELETED


@dataclass(frozen=True)
class MergeSpec:
    """What a MERGE does with a change: `guard` is when it may replace a row; without one it always may."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    guard: str | None
    deletes: bool
    lineage: bool
    # Columns of the table that the pipeline does not declare and that each event sets to null.
    nulled: tuple[str, ...] = ()


def merge_spec(pipeline: Pipeline, alignment: Alignment = AS_DECLARED) -> MergeSpec:
    """Of a batch: what is older than the row stays out; by position nothing is, because batches arrive in order."""
    target = pipeline.target
    guard = None if target.sequence == POSITION else newer_condition(alignment.name(target.sequence))
    keys, columns = alignment.names(target.keys), alignment.names(pipeline.columns)
    return MergeSpec(keys, columns, guard, pipeline.deletes, target.lineage, alignment.nulled)


def newer_condition(sequence: str) -> str:
    return f"t.{quoted(sequence)} IS NULL OR s.{quoted(sequence)} > t.{quoted(sequence)}"


def merge_latest(table: DeltaTable, changes: DataFrame, spec: MergeSpec, bound: Column | None = None) -> None:
    """Delete what is to be deleted, update what is older, insert what is not there.

    `changes` holds one row per key, its keys never null. `bound` is a condition that every row with one of these keys
    fulfils: it leaves files unread.
    """
    values: dict[str, str | Column] = {quoted(name): f"s.{quoted(name)}" for name in spec.columns}
    if has_lineage(table):
        # A pipeline that no longer declares lineage must not leave the origin of another event with its own.
        values[quoted(LINEAGE)] = f"s.{quoted(LINEAGE)}" if spec.lineage else "NULL"
    values |= {quoted(name): "NULL" for name in spec.nulled}
    keys = {quoted(key) for key in spec.keys}
    updates = {name: value for name, value in values.items() if name not in keys}
    on = F.expr(same_key(spec.keys))
    merge = table.alias("t").merge(changes.alias("s"), on if bound is None else on & bound)
    # The guard stands only in WHEN MATCHED: in ON, an older event would not match and be inserted as a second row.
    if spec.deletes:
        merge = (
            merge.whenMatchedDelete(condition=both(f"s.{DELETED}", spec.guard))
            .whenMatchedUpdate(condition=both(f"NOT s.{DELETED}", spec.guard), set=updates)
            .whenNotMatchedInsert(condition=f"NOT s.{DELETED}", values=values)
        )
    else:
        merge = merge.whenMatchedUpdate(condition=spec.guard, set=updates).whenNotMatchedInsert(values=values)
    merge.execute()


def both(condition: str, other: str | None) -> str:
    return condition if other is None else f"{condition} AND ({other})"


def count_superseded(rows: DataFrame, changes: DataFrame, keys: Sequence[str], sequence: str) -> int:
    """Events that a newer row of the table keeps out, counted on their own and not as what the MERGE left over."""
    if sequence == POSITION:
        return 0
    on = f"({same_key(keys)}) AND s.{quoted(sequence)} <= t.{quoted(sequence)}"
    return changes.alias("s").join(rows.alias("t"), on=F.expr(on), how="left_semi").count()


def count_absent(rows: DataFrame, changes: DataFrame, keys: Sequence[str]) -> int:
    """Deletes of keys that the table does not have, counted on their own too."""
    deletions = changes.where(F.col(DELETED))
    if deletions.isEmpty():
        return 0
    return deletions.alias("s").join(rows.alias("t"), on=F.expr(same_key(keys)), how="left_anti").count()


def same_key(keys: Sequence[str]) -> str:
    return " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)


def commit_empty(spark: SparkSession, path: str) -> None:
    """A commit that moves only the position. Columns that Delta computes are left out: it takes no value for them."""
    metadata = json.loads(Commits(spark, path).metadata())["metaData"]
    computed = {
        field.name for field in T.StructType.fromJson(json.loads(metadata["schemaString"])) if fills_itself(field)
    }
    rows = spark.read.format("delta").load(path)
    nothing = spark.createDataFrame([], rows.drop(*computed).schema)
    nothing.write.format("delta").mode("append").save(path)
