"""What a batch makes of the rows of its candidate files: one join, and one action for each row, all of them counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.delta.lineage import LINEAGE
from common.delta.sql_text import quoted
from common.merge.delta_merge import Upsert, same_key
from common.spark.queries import Watch, in_words
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
class Rewritten:
    """The rows to write, and how many had which action; that is known when they are written."""

    rows: DataFrame
    _watch: Watch

    def counts(self) -> dict[str, int]:
        found = self._watch.answer()
        return {action: found[action] for action in ACTIONS}


def rewritten(stand: DataFrame, changes: DataFrame, upsert: Upsert) -> Rewritten:
    """`stand` is all rows of the candidate files; `changes` holds one row per key."""
    joined = stand.alias("t").join(changes.alias("s"), on=F.expr(same_key(upsert.keys)), how="full_outer")
    return observed(joined.withColumn(ACTION, action_of(upsert)), columns_of(tuple(stand.columns), upsert))


def added(changes: DataFrame, upsert: Upsert) -> Rewritten:
    """Where no file can hold a key of the batch: nothing to join with."""
    action = F.when(F.col(DELETED), ABSENT).otherwise(INSERT) if upsert.deletes else F.lit(INSERT)
    names = [*upsert.columns, *([LINEAGE] if upsert.lineage else [])]
    return observed(changes.withColumn(ACTION, action), [F.col(name) for name in names])


def observed(rows: DataFrame, columns: Sequence[Column]) -> Rewritten:
    """What stays, counted in the same job that will write it."""
    watch = Watch()
    seen = watch.on(rows, action_counts())
    return Rewritten(seen.where(f"{ACTION} NOT IN ('{DELETE}', '{ABSENT}')").select(*columns), watch)


@cache
def action_counts() -> Column:
    return in_words(*(F.count_if(F.col(ACTION) == action).alias(action) for action in ACTIONS))


@cache
def action_of(upsert: Upsert) -> Column:
    """The same as in the MERGE: deletes of nothing and events that a newer row keeps out do nothing.

    A key of the batch is never null. One of the table may be, in a row that then meets no change.
    """
    changes = F.col(f"s.{quoted(upsert.keys[0])}").isNotNull()
    stands = F.col(f"t.{quoted(upsert.keys[0])}").isNotNull()
    deletes = F.col(f"s.{DELETED}") if upsert.deletes else F.lit(False)  # noqa: FBT003
    may = F.coalesce(F.expr(upsert.guard), F.lit(False)) if upsert.guard else F.lit(True)  # noqa: FBT003
    return (
        F.when(~changes, COPY)
        .when(~stands & deletes, ABSENT)
        .when(~stands, INSERT)
        .when(~may, SUPERSEDED)
        .when(deletes, DELETE)
        .otherwise(UPDATE)
    )


@cache
def columns_of(names: tuple[str, ...], upsert: Upsert) -> tuple[Column, ...]:
    """Of each column of the table the batch's value where it is set, else what stands."""
    inserts, sets = F.col(ACTION) == INSERT, F.col(ACTION).isin(INSERT, UPDATE)

    def chosen(name: str) -> Column:
        stands = F.col(f"t.{quoted(name)}")
        if name in upsert.keys:
            return F.when(inserts, F.col(f"s.{quoted(name)}")).otherwise(stands)
        if name in upsert.columns or (name == LINEAGE and upsert.lineage):
            return F.when(sets, F.col(f"s.{quoted(name)}")).otherwise(stands)
        # A pipeline that no longer declares lineage must not leave the origin of another event with its own.
        return F.when(~sets, stands) if name == LINEAGE or name in upsert.nulled else stands

    return tuple(chosen(name).alias(name) for name in names)
