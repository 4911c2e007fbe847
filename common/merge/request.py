"""One batch to be merged, and an attempt at it: the batch under the names and in the types that the table has now.

Spark ignores the case of names and casts by itself; Kernel, Arrow and a commit of our own do neither. So a batch is
aligned once for an attempt, before any strategy gets it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from delta.exceptions import MetadataChangedException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.candidate_files import CandidateFiles, CandidatesUnknown, find_candidate_files
from common.delta.computed_columns import fills_itself, has_default
from common.delta.transaction import DirectTransaction
from common.delta.type_changes import holds, is_same
from common.merge.changes import Changes
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.merge_spec import LINEAGE, MergeSpec
from common.model.position import Stamp
from common.rules.pruning import PruneBound
from common.settings.locations import Location
from common.settings.pipeline import PRUNABLE, Pipeline
from common.spark.sql_text import quoted

# The table's field of each declared column.
Fields = Mapping[str, T.StructField]


@dataclass(frozen=True)
class MergeRequest:
    """One batch. Its changes, one row a key, and its bounds are under the pipeline's names."""

    spark: SparkSession
    table: Location
    pipeline: Pipeline
    changes: Changes
    to_merge: int
    bounds: Sequence[PruneBound]
    stamp: Stamp
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True)
class MergeAttempt:
    """A request on one version of the table: changes, bounds and spec are under the names and in the types of the
    table."""

    request: MergeRequest
    # Begun once for the attempt: a commit of anybody else after it is a conflict.
    transaction: DirectTransaction
    changes: Changes
    bounds: Sequence[PruneBound]
    spec: MergeSpec
    candidates: CandidateFiles | CandidatesUnknown
    # Why only Delta's MERGE may write this table's rows; None where every strategy may.
    only_merge: str | None


def begin_merge(request: MergeRequest) -> MergeAttempt:
    """Begin a transaction on the newest version of the table, and align the batch with it."""
    pipeline, transaction = request.pipeline, DirectTransaction(request.spark, request.table)
    fields = fields_of(request.changes.schema, transaction.schema)
    others = [field for field in transaction.schema if field not in fields.values() and field.name != LINEAGE]
    is_nulled = pipeline.target.schema_changes.undeclared == "null"
    nulled = [field.name for field in others if is_nulled and not fills_itself(field)]
    only_merge = reason_for_merge([field for field in others if field.name not in nulled])
    bounds = aligned_bounds(request.bounds, fields)
    return MergeAttempt(
        request,
        transaction,
        aligned_changes(request.changes, fields),
        bounds,
        merge_spec(pipeline, {name: field.name for name, field in fields.items()}, nulled),
        find_candidate_files(request.spark, request.table.uri, transaction.version, bounds, request.limits)
        if only_merge is None
        else CandidatesUnknown(only_merge),
        only_merge,
    )


def fields_of(changes: T.StructType, table: T.StructType) -> Fields:
    """Find each column of a batch in the table. The names of the engine's own columns begin with an underscore."""
    stands = {field.name.lower(): field for field in table}
    declared = [field for field in changes if not field.name.startswith("_")]
    return {field.name: the_same(field, stands) for field in declared}


def the_same(declared: T.StructField, stands: Fields) -> T.StructField:
    """Raise a conflict where the table has changed since it was compared with the pipeline: it is compared anew."""
    field = stands.get(declared.name.lower())
    if field is None or not holds(field.dataType, declared.dataType):
        raise MetadataChangedException(f"the table's column '{declared.name}' has changed")
    return field


def reason_for_merge(undeclared: Sequence[T.StructField]) -> str | None:
    for field in undeclared:
        if fills_itself(field):
            return f"Delta computes column {field.name}"
        if has_default(field):
            return f"column {field.name} has a default"
    return None


def aligned_bounds(bounds: Sequence[PruneBound], fields: Fields) -> list[PruneBound]:
    """Leave out a bound on a column whose type in the table Delta cannot skip files by."""
    return [
        replace(bound, column=field.name, type=field.dataType.simpleString())
        for bound, field in ((bound, fields[bound.column]) for bound in bounds)
        if field.dataType.simpleString() in PRUNABLE
    ]


def aligned_changes(changes: Changes, fields: Fields) -> Changes:
    """The rows in the driver are only renamed: its rewrite casts to the types of the files that it writes."""
    schema = T.StructType([fields.get(field.name, field) for field in changes.schema])
    arrow = None if changes.arrow is None else changes.arrow.rename_columns(schema.names)
    return Changes(schema, lambda: aligned_frame(changes.frame, schema), arrow)


def aligned_frame(frame: DataFrame, schema: T.StructType) -> DataFrame:
    pairs = list(zip(frame.schema, schema, strict=True))
    if all(one.name == other.name and is_same(one.dataType, other.dataType) for one, other in pairs):
        return frame
    return frame.select(*(aligned_column(*pair) for pair in pairs))


def aligned_column(declared: T.StructField, field: T.StructField) -> Column:
    column = F.col(quoted(declared.name))
    return (column if is_same(field.dataType, declared.dataType) else column.cast(field.dataType)).alias(field.name)


def merge_spec(pipeline: Pipeline, names: Mapping[str, str], nulled: Sequence[str] = ()) -> MergeSpec:
    """How a pipeline's changes are merged, under the table's names. By position every change is newer than its row,
    because batches arrive in order.

    A pipeline that no longer declares lineage must not leave the lineage of another event with its own values.
    """
    target = pipeline.target
    columns = tuple(names[name] for name in pipeline.columns)
    return MergeSpec(
        keys=tuple(names[key] for key in target.keys),
        sets=(*columns, LINEAGE) if target.lineage else columns,
        clears=tuple(nulled) if target.lineage else (*nulled, LINEAGE),
        ordering=None if target.ordering is None else names[target.ordering],
        deletes=pipeline.deletes,
    )
