"""Merge a batch by one Spark job that rewrites all candidate files: one join, and one action for each row."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.candidate_files import CandidateFiles, CandidatesUnknown
from common.delta.format.writable_table import CHANGE_FEED, ROW_TRACKING, is_on
from common.delta.transaction import FileChanges
from common.merge.delta_merge import newer_condition, same_key
from common.merge.prepared_rewrite import PreparedRewrite, RewriteResult, prepared_rewrite
from common.merge.request import MergeAttempt
from common.merge.strategy import Declined
from common.model.action import ABSENT, ACTION, ACTIONS, COPY, DELETE, INSERT, SUPERSEDED, UPDATE
from common.model.disposition import DELETED
from common.model.merge_spec import MergeSpec
from common.spark.queries import ObservedMetrics, as_json
from common.spark.small_queries import small_query_conf
from common.spark.sql_text import quoted


class SparkRewrite:
    """For candidates that the driver may not hold, and for tables that lie elsewhere, as on S3."""

    name = "Spark rewrite"

    def prepare(self, attempt: MergeAttempt) -> PreparedRewrite | Declined:
        if attempt.only_merge is not None:
            return Declined(attempt.only_merge)
        candidates, transaction = attempt.candidates, attempt.transaction
        if isinstance(candidates, CandidatesUnknown):
            return Declined(candidates.reason)
        if not same_types(attempt.changes.schema, transaction.schema):
            return Declined("the table has other types than the batch")
        if candidates.files:
            for name in (CHANGE_FEED, ROW_TRACKING):
                if is_on(transaction.metadata["configuration"], name):
                    return Declined(f"{name} is on")
            if candidates.have_deletion_vectors:
                return Declined("a candidate file has a deletion vector")
        return prepared_rewrite(attempt, len(candidates.files), rewrite_in_spark(attempt, candidates))


def same_types(changes: T.StructType, table: T.StructType) -> bool:
    """True where a commit of our own, which casts nothing, writes each column in the table's type."""
    types = {field.name: field.dataType.simpleString() for field in changes}
    return all(types.get(field.name, kind) == kind for field in table for kind in [field.dataType.simpleString()])


def rewrite_in_spark(attempt: MergeAttempt, candidates: CandidateFiles) -> RewriteResult:
    """One job, which rewrites all candidates."""
    request, transaction, spec, changes = attempt.request, attempt.transaction, attempt.spec, attempt.changes.frame
    limits = request.limits
    is_small = candidates.bytes <= limits.one_task_bytes and request.to_merge <= limits.fetched_records
    with small_query_conf(request.spark, limits, request.to_merge, candidates.rows):
        if candidates.files:
            result = joined(transaction.read(candidates.files), changes, spec, is_small=is_small)
        else:
            result = appended(changes.coalesce(1) if is_small else changes, spec)
        written = transaction.write(result.rows)
    counts = result.counts()
    copied = counts.pop(COPY) + counts[SUPERSEDED]
    return RewriteResult(FileChanges(written, [], candidates.files), counts, copied)


@dataclass(frozen=True)
class RewrittenRows:
    """The rows to write, and how many had which action; that is known when they are written."""

    rows: DataFrame
    _metrics: ObservedMetrics

    def counts(self) -> dict[str, int]:
        counted = self._metrics.answer()
        return {action: counted[action] for action in ACTIONS}


def joined(rows: DataFrame, changes: DataFrame, spec: MergeSpec, *, is_small: bool) -> RewrittenRows:
    """All rows of the candidate files, merged with the changes, one row a key.

    A little is joined and written by one task, and becomes one file for each partition of the table.
    """
    if is_small:
        # Few changes fit into a hash table; for a merge join the files would have to be sorted.
        rows, changes = rows.coalesce(1), changes.coalesce(1).hint("shuffle_hash")
    both = rows.alias("t").join(changes.alias("s"), on=F.expr(same_key(spec.keys)), how="full_outer")
    return observed(both.withColumn(ACTION, action_of(spec)), columns_of(tuple(rows.columns), spec))


def appended(changes: DataFrame, spec: MergeSpec) -> RewrittenRows:
    """The changes alone, where no file can hold a key of the batch."""
    action = F.when(F.col(DELETED), ABSENT).otherwise(INSERT) if spec.deletes else F.lit(INSERT)
    names = [name for name in changes.columns if name in spec.sets]
    return observed(changes.withColumn(ACTION, action), [F.col(quoted(name)) for name in names])


def observed(rows: DataFrame, columns: Sequence[Column]) -> RewrittenRows:
    """The rows that stay, counted in the same job that will write them."""
    metrics = ObservedMetrics()
    seen = metrics.on(rows, action_counts())
    return RewrittenRows(seen.where(f"{ACTION} NOT IN ('{DELETE}', '{ABSENT}')").select(*columns), metrics)


@cache
def action_counts() -> Column:
    return as_json(*(F.count_if(F.col(ACTION) == action).alias(action) for action in ACTIONS))


@cache
def action_of(spec: MergeSpec) -> Column:
    """The rule of rules/actions.py as SQL.

    A key of the batch is never null. One of the table may be, in a row that then meets no change.
    """
    has_change = F.col(f"s.{quoted(spec.keys[0])}").isNotNull()
    has_row = F.col(f"t.{quoted(spec.keys[0])}").isNotNull()
    deletes = F.col(f"s.{DELETED}") if spec.deletes else F.lit(False)  # noqa: FBT003
    newer = F.lit(True) if spec.ordering is None else F.expr(newer_condition(spec.ordering))  # noqa: FBT003
    return (
        F.when(~has_change, COPY)
        .when(~has_row & deletes, ABSENT)
        .when(~has_row, INSERT)
        .when(~F.coalesce(newer, F.lit(False)), SUPERSEDED)  # noqa: FBT003
        .when(deletes, DELETE)
        .otherwise(UPDATE)
    )


@cache
def columns_of(names: tuple[str, ...], spec: MergeSpec) -> tuple[Column, ...]:
    """For each column of the table the change's value where the spec sets it, else the row's own."""
    inserts, writes = F.col(ACTION) == INSERT, F.col(ACTION).isin(INSERT, UPDATE)

    def value(name: str) -> Column:
        old, new = F.col(f"t.{quoted(name)}"), F.col(f"s.{quoted(name)}")
        if name in spec.keys:
            return F.when(inserts, new).otherwise(old)
        if name in spec.sets:
            return F.when(writes, new).otherwise(old)
        return F.when(~writes, old) if name in spec.clears else old

    return tuple(value(name).alias(name) for name in names)
