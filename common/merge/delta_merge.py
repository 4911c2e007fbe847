"""Merge a batch by Delta's own MERGE, bounded where there are bounds."""

from collections.abc import Sequence

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.delta.lineage import has_lineage
from common.merge.request import MergeAttempt
from common.merge.strategy import Declined, MergeForecast
from common.model.disposition import DELETED
from common.model.merge_spec import LINEAGE, MergeSpec
from common.model.position import Stamp
from common.spark.pruning import prune_condition
from common.spark.sql_text import quoted


class DeltaMerge:
    """For every batch and every table, however large they are."""

    name = "Delta MERGE"

    def prepare(self, attempt: MergeAttempt) -> "PreparedDeltaMerge | Declined":
        table = DeltaTable.forPath(attempt.request.spark, attempt.request.table.uri)
        return PreparedDeltaMerge(table, attempt.changes.frame, attempt.spec, prune_condition(attempt.bounds))


class PreparedDeltaMerge:
    """A MERGE whose superseded and absent changes are counted on their own, and not as what it left over."""

    def __init__(self, table: DeltaTable, changes: DataFrame, spec: MergeSpec, bound: Column | None) -> None:
        self._table, self._changes, self._spec, self._bound = table, changes, spec, bound
        rows = table.toDF() if bound is None else table.alias("t").toDF().where(bound)
        self.forecast = MergeForecast(
            candidates=None if bound is None else len(rows.inputFiles()),
            superseded=count_superseded(rows, changes, spec),
            absent=count_absent(rows, changes, spec.keys) if spec.deletes else 0,
        )

    def commit(self, stamp: Stamp) -> None:  # noqa: ARG002  it rides in the session's settings
        merge_changes(self._table, self._changes, self._spec, self._bound)


def merge_changes(table: DeltaTable, changes: DataFrame, spec: MergeSpec, bound: Column | None = None) -> None:
    """Delete what is to be deleted, update what is older, insert what is not there.

    `changes` holds one row per key, its keys never null. `bound` is a condition that every row with one of these keys
    fulfils: it leaves files unread.
    """
    missing = () if has_lineage(table) else (LINEAGE,)
    values: dict[str, str | Column] = {quoted(name): f"s.{quoted(name)}" for name in spec.sets if name not in missing}
    values |= {quoted(name): "NULL" for name in spec.clears if name not in missing}
    keys = {quoted(key) for key in spec.keys}
    updates = {name: value for name, value in values.items() if name not in keys}
    on, newer = F.expr(same_key(spec.keys)), None if spec.ordering is None else newer_condition(spec.ordering)
    merge = table.alias("t").merge(changes.alias("s"), on if bound is None else on & bound)
    # The ordering stands only in WHEN MATCHED: in ON, an older event would not match and be inserted as a second row.
    if spec.deletes:
        merge = (
            merge.whenMatchedDelete(condition=and_(f"s.{DELETED}", newer))
            .whenMatchedUpdate(condition=and_(f"NOT s.{DELETED}", newer), set=updates)
            .whenNotMatchedInsert(condition=f"NOT s.{DELETED}", values=values)
        )
    else:
        merge = merge.whenMatchedUpdate(condition=newer, set=updates).whenNotMatchedInsert(values=values)
    merge.execute()


def newer_condition(ordering: str) -> str:
    """SQL: the change `s` is newer than the row `t`; a null in the row counts as older."""
    return f"t.{quoted(ordering)} IS NULL OR s.{quoted(ordering)} > t.{quoted(ordering)}"


def same_key(keys: Sequence[str]) -> str:
    """SQL: the row `t` has the key of the change `s`."""
    return " AND ".join(f"t.{quoted(key)} = s.{quoted(key)}" for key in keys)


def and_(condition: str, other: str | None) -> str:
    return condition if other is None else f"{condition} AND ({other})"


def count_superseded(rows: DataFrame, changes: DataFrame, spec: MergeSpec) -> int:
    """Changes that a newer row of the table keeps out."""
    if spec.ordering is None:
        return 0
    on = f"({same_key(spec.keys)}) AND s.{quoted(spec.ordering)} <= t.{quoted(spec.ordering)}"
    return changes.alias("s").join(rows.alias("t"), on=F.expr(on), how="left_semi").count()


def count_absent(rows: DataFrame, changes: DataFrame, keys: Sequence[str]) -> int:
    """Deletes of keys that the table does not have."""
    deletions = changes.where(F.col(DELETED))
    if deletions.isEmpty():
        return 0
    return deletions.alias("s").join(rows.alias("t"), on=F.expr(same_key(keys)), how="left_anti").count()
