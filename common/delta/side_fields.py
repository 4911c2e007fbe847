"""Fit the struct columns of side tables, `event` and `key`, to changing columns of a pipeline.

Delta fixes the type of a field with its first row, and a side table has rows of every pipeline file there ever was.
So a field keeps its name and its type for good, and a value of another type gets a field of its own: `degrees:string`
besides `degrees`. No column of a pipeline has a colon in its name. docs/adr/0006-deletes-lineage-replay.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count

from delta.tables import DeltaTable
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

OF_ANOTHER_TYPE = ":"


def stored_struct(spark: SparkSession, path: str, column: str) -> T.StructType:
    """Return the fields of a struct column of the table at this path; none where there is no such table."""
    if not DeltaTable.isDeltaTable(spark, path):
        return T.StructType()
    kind = spark.read.format("delta").load(path).schema[column].dataType
    assert isinstance(kind, T.StructType)  # noqa: S101  the engine itself has made it one
    return kind


def fitting_struct(columns: Mapping[str, T.DataType], stored: T.StructType, of: Callable[[str], Column]) -> Column:
    """Build a struct of these columns that can be appended to what is stored.

    It has every stored field in its order and with its type, null where no column belongs to it, and then the new
    fields. `of` gives a column's value by its name.
    """
    names = {field_for(name, kind, stored): name for name, kind in columns.items()}
    added = [name for name in names if name not in stored.names]
    kept = [of(names[each.name]) if each.name in names else F.lit(None).cast(each.dataType) for each in stored]
    values = [*kept, *(of(names[name]) for name in added)]
    return F.struct(*(value.alias(name) for name, value in zip([*stored.names, *added], values, strict=True)))


def field_for(name: str, kind: T.DataType, stored: T.StructType) -> str:
    """Return the field for a column's values of this type. Spark ignores the case of names."""
    taken = {field.name.lower(): field for field in stored}
    for candidate in candidates(name, kind):
        field = taken.get(candidate.lower())
        if field is None:
            return candidate
        if field.dataType.simpleString() == kind.simpleString():
            return field.name
    raise AssertionError("candidates never end")


def candidates(name: str, kind: T.DataType) -> Iterator[str]:
    """Yield names for a field: `degrees`, `degrees:decimal_10_2`, and a number where two types are written alike."""
    yield name
    label = re.sub(r"\W+", "_", kind.simpleString()).strip("_")
    yield f"{name}{OF_ANOTHER_TYPE}{label}"
    for number in count(2):
        yield f"{name}{OF_ANOTHER_TYPE}{label}{OF_ANOTHER_TYPE}{number}"


def column_of(field: str) -> str:
    """Return the pipeline's column whose values a field has."""
    return field.partition(OF_ANOTHER_TYPE)[0]
