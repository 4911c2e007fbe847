"""Bring a batch's columns under the names and into the types that they have in the table.

Spark ignores the case of names and casts by itself; Kernel, Arrow and a commit of our own do neither. So a batch is
aligned once, before any of them gets it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from delta.exceptions import MetadataChangedException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.computed_columns import fills_itself, has_default
from common.delta.type_changes import holds, is_same
from common.model.merge_spec import LINEAGE
from common.rules.pruning import PruneBound
from common.settings.pipeline import PRUNABLE
from common.spark.sql_text import quoted


@dataclass(frozen=True)
class Alignment:
    """The table's field of each declared column, and what becomes of the columns that nobody declares."""

    fields: Mapping[str, T.StructField]
    # Columns of the table that each event sets to null.
    nulled: tuple[str, ...]
    # Why only Delta's MERGE may write this table's rows; None where every strategy may.
    only_merge: str | None

    def name(self, declared: str) -> str:
        return self.fields[declared].name if declared in self.fields else declared

    def names(self, declared: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.name, declared))

    def schema(self, changes: T.StructType) -> T.StructType:
        return T.StructType([self.fields.get(field.name, field) for field in changes])

    def frame(self, changes: DataFrame) -> DataFrame:
        if self._is_identity(changes.schema):
            return changes
        return changes.select(*(self._column(field) for field in changes.schema))

    def arrow(self, changes: pa.Table) -> pa.Table:
        """Rename only: the driver's rewrite casts to the types of the files that it writes."""
        return changes.rename_columns([self.name(name) for name in changes.column_names])

    def bounds(self, bounds: Sequence[PruneBound]) -> list[PruneBound]:
        """Leave out a bound on a column whose type in the table Delta cannot skip files by."""
        fields = [(bound, self.fields[bound.column]) for bound in bounds]
        return [
            replace(bound, column=field.name, type=field.dataType.simpleString())
            for bound, field in fields
            if field.dataType.simpleString() in PRUNABLE
        ]

    def _is_identity(self, changes: T.StructType) -> bool:
        ours = [(name, field) for name, field in self.fields.items() if name in changes.names]
        return all(field.name == name and is_same(field.dataType, changes[name].dataType) for name, field in ours)

    def _column(self, declared: T.StructField) -> Column:
        column, field = F.col(quoted(declared.name)), self.fields.get(declared.name, declared)
        return (column if is_same(field.dataType, declared.dataType) else column.cast(field.dataType)).alias(field.name)


# For a table whose columns are those of the batch.
AS_DECLARED = Alignment({}, (), None)


def align(changes: T.StructType, table: T.StructType, *, undeclared: str) -> Alignment:
    """Find each column of a batch in the table. The names of the engine's own columns begin with an underscore."""
    stands = {field.name.lower(): field for field in table}
    declared = [field for field in changes if not field.name.startswith("_")]
    fields = {field.name: the_same(field, stands) for field in declared}
    others = [field for field in table if field not in fields.values() and field.name != LINEAGE]
    own = [field for field in others if not fills_itself(field)]
    nulled = tuple(field.name for field in own if undeclared == "null")
    return Alignment(fields, nulled, reason_for_merge([field for field in others if field.name not in nulled]))


def the_same(declared: T.StructField, stands: Mapping[str, T.StructField]) -> T.StructField:
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
