"""Rows that this process holds itself, as Arrow's columns, compared as Spark compares them."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

ATOMS = {
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
BITS = {pa.float32(): np.int32, pa.float64(): np.int64}


def atom(kind: T.DataType) -> pa.DataType | None:
    """What is neither made of others nor compared by rules of its own, as a text with a collation is."""
    if isinstance(kind, T.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    return ATOMS.get(kind.simpleString())


def can_be_held(schema: T.StructType, compared: Iterable[str]) -> bool:
    """Whether this process can have such rows, and compare these columns of them as Spark does."""
    try:
        to_arrow_schema(schema)
    except PySparkException:
        return False
    return all(atom(schema[name].dataType) is not None for name in compared)


def with_same_bits(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """In a form in which equal values are equal bits: to Spark both zeros are one number, and so are all that are
    none."""
    if column.type not in BITS:
        return column
    values = column.combine_chunks()
    found = values.to_numpy(zero_copy_only=False) + column.type.to_pandas_dtype()(0)
    found[np.isnan(found)] = np.nan
    return pa.array(found.view(BITS[column.type]), mask=np.asarray(values.is_null()))


def comparable(column: pa.ChunkedArray) -> list[Any]:
    """Times as numbers: Python knows fewer years than Spark."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return list(column.to_pylist())


def is_greater(one: Any, other: Any) -> bool:
    """Null is less than everything, and what is not a number is greater than all that are."""
    if one is None or other is None:
        return one is not None
    if isinstance(one, float) and math.isnan(one):
        return not math.isnan(other)
    return bool(one > other)
