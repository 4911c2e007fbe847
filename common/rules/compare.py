"""Compare Arrow values as Spark compares them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

# The plain types, by the names that Spark and pipeline files give them. A text with a collation is not among them,
# because it is compared by rules of its own.
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
DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
# The column and the function of each aggregate, by its name.
Aggregates = Mapping[str, tuple[str | list[str], str]]
ROWS: tuple[list[str], str] = ([], "count_all")
# Raised where a value has no form in Arrow, or in Python.
CONVERSION_ERRORS = (pa.ArrowException, ArithmeticError, LookupError, TypeError, ValueError)
BITS = {pa.float32(): np.int32, pa.float64(): np.int64}


def arrow_type(name: str) -> pa.DataType | None:
    """Return Arrow's type for Spark's name of a plain type; None for every other type."""
    decimal = DECIMAL.fullmatch(name)
    if decimal is not None:
        return pa.decimal128(int(decimal[1]), int(decimal[2]))
    return ARROW_TYPES.get(name)


def sortable(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Map values to a form that compares as in Spark. Nulls remain.

    Both zeros are one number, and NaN equals itself and is greater than every number.
    """
    if column.type not in BITS:
        return column
    values = column.combine_chunks()
    numbers = values.to_numpy(zero_copy_only=False) + column.type.to_pandas_dtype()(0)
    numbers[np.isnan(numbers)] = np.nan
    bits = numbers.view(BITS[column.type])
    # As whole numbers, those below zero would be in the order of their distance from it.
    negative, without_sign = bits < 0, np.iinfo(bits.dtype).max
    return pa.array(np.where(negative, bits ^ without_sign, bits), mask=np.asarray(values.is_null()))


def aggregate(columns: Mapping[str, Any], by: Sequence[str], aggregates: Aggregates) -> pa.Table:
    """Group by the columns `by`: one row for each combination of their values, with the aggregates of its rows."""
    groups = pa.table(dict(columns)).group_by(list(by), use_threads=False).aggregate(list(aggregates.values()))
    return groups.rename_columns([*by, *aggregates])
