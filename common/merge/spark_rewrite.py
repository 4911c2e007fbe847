"""What a batch makes of the rows of its candidate files: one join, and one action for each row, all of them counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.delta.lineage import LINEAGE
from common.delta.sql_text import quoted
from common.merge.delta_merge import MergeSpec, same_key
from common.spark.queries import ObservedMetrics, as_json
from common.spark.validate.tombstone import DELETED

ACTION = "_action"
COPY = "copied"
INSERT = "inserted"
UPDATE = "updated"
DELETE = "deleted"
SUPERSEDED = "superseded"
ABSENT = "absent"
ACTIONS = (COPY, INSERT, UPDATE, DELETE, SUPERSEDED, ABSENT)


@dataclass(frozen=True)
class RewrittenRows:
    """The rows to write, and how many had which action; that is known when they are written."""

    rows: DataFrame
    _watch: ObservedMetrics

    def counts(self) -> dict[str, int]:
        found = self._watch.answer()
        return {action: found[action] for action in ACTIONS}


def rewritten_rows(stand: DataFrame, changes: DataFrame, spec: MergeSpec) -> RewrittenRows:
    """`stand` is all rows of the candidate files; `changes` holds one row per key."""
    joined = stand.alias("t").join(changes.alias("s"), on=F.expr(same_key(spec.keys)), how="full_outer")
    return observed(joined.withColumn(ACTION, action_of(spec)), columns_of(tuple(stand.columns), spec))


def added(changes: DataFrame, spec: MergeSpec) -> RewrittenRows:
    """Where no file can hold a key of the batch: nothing to join with."""
    action = F.when(F.col(DELETED), ABSENT).otherwise(INSERT) if spec.deletes else F.lit(INSERT)
    names = [*spec.columns, *([LINEAGE] if spec.lineage else [])]
    return observed(changes.withColumn(ACTION, action), [F.col(name) for name in names])


def observed(rows: DataFrame, columns: Sequence[Column]) -> RewrittenRows:
    """What stays, counted in the same job that will write it."""
    watch = ObservedMetrics()
    seen = watch.on(rows, action_counts())
    return RewrittenRows(seen.where(f"{ACTION} NOT IN ('{DELETE}', '{ABSENT}')").select(*columns), watch)


@cache
def action_counts() -> Column:
    return as_json(*(F.count_if(F.col(ACTION) == action).alias(action) for action in ACTIONS))


@cache
def action_of(spec: MergeSpec) -> Column:
    """The same as in the MERGE: deletes of nothing and events that a newer row keeps out do nothing.

    A key of the batch is never null. One of the table may be, in a row that then meets no change.
    """
    changes = F.col(f"s.{quoted(spec.keys[0])}").isNotNull()
    stands = F.col(f"t.{quoted(spec.keys[0])}").isNotNull()
    deletes = F.col(f"s.{DELETED}") if spec.deletes else F.lit(False)  # noqa: FBT003
    may = F.coalesce(F.expr(spec.guard), F.lit(False)) if spec.guard else F.lit(True)  # noqa: FBT003
    return (
        F.when(~changes, COPY)
        .when(~stands & deletes, ABSENT)
        .when(~stands, INSERT)
        .when(~may, SUPERSEDED)
        .when(deletes, DELETE)
        .otherwise(UPDATE)
    )


@cache
def columns_of(names: tuple[str, ...], spec: MergeSpec) -> tuple[Column, ...]:
    """Of each column of the table the batch's value where it is set, else what stands."""
    inserts, sets = F.col(ACTION) == INSERT, F.col(ACTION).isin(INSERT, UPDATE)

    def chosen(name: str) -> Column:
        stands = F.col(f"t.{quoted(name)}")
        if name in spec.keys:
            return F.when(inserts, F.col(f"s.{quoted(name)}")).otherwise(stands)
        if name in spec.columns or (name == LINEAGE and spec.lineage):
            return F.when(sets, F.col(f"s.{quoted(name)}")).otherwise(stands)
        # A pipeline that no longer declares lineage must not leave the origin of another event with its own.
        return F.when(~sets, stands) if name == LINEAGE or name in spec.nulled else stands

    return tuple(chosen(name).alias(name) for name in names)
