"""Rows that this process holds itself, as Arrow's columns, compared as Spark compares them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

ARROW_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "string": pa.string(),
    "binary": pa.binary(),
}
# By the name of what is told of a group: of which column, and how.
Aggregates = Mapping[str, tuple[str | list[str], str]]
# Where a value is nothing for Arrow, or for Python.
CONVERSION_ERRORS = (pa.ArrowException, ArithmeticError, LookupError, TypeError, ValueError)
BITS = {pa.float32(): np.int32, pa.float64(): np.int64}


def atom(kind: T.DataType) -> pa.DataType | None:
    """What is neither made of others nor compared by rules of its own, as a text with a collation is."""
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return ARROW_TYPES.get(kind.simpleString())


def can_collect(schema: T.StructType, compared: Iterable[str]) -> bool:
    """Whether this process can have such rows, and compare these columns of them as Spark does."""
    if has_variant(schema):
        # Spark gives it to Arrow, and does not take it back.
        return False
    try:
        to_arrow_schema(schema)
    except PySparkException:
        return False
    return all(atom(schema[name].dataType) is not None for name in compared)


def has_variant(kind: T.DataType) -> bool:
    """Whether a VARIANT is somewhere in it."""
    if isinstance(kind, T.StructType):
        return any(has_variant(field.dataType) for field in kind)
    if isinstance(kind, T.ArrayType):
        return has_variant(kind.elementType)
    return has_variant(kind.valueType) if isinstance(kind, T.MapType) else isinstance(kind, T.VariantType)


def sortable(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """In a form in which values compare as in Spark: there both zeros are one number, and what is not a number is equal
    to itself and greater than all that are. Nulls remain."""
    if column.type not in BITS:
        return column
    values = column.combine_chunks()
    found = values.to_numpy(zero_copy_only=False) + column.type.to_pandas_dtype()(0)
    found[np.isnan(found)] = np.nan
    bits = found.view(BITS[column.type])
    # As whole numbers, those below zero would be in the order of their distance from it.
    negative, without_sign = bits < 0, np.iinfo(bits.dtype).max
    return pa.array(np.where(negative, bits ^ without_sign, bits), mask=np.asarray(values.is_null()))


def aggregate(columns: Mapping[str, Any], by: Sequence[str], told: Aggregates) -> pa.Table:
    """One row for each combination of values of `by`, with what is `told` of its rows."""
    found = pa.table(dict(columns)).group_by(list(by), use_threads=False).aggregate(list(told.values()))
    return found.rename_columns([*by, *told])
