"""A column's value as a literal of its own type: a cast would keep Delta from skipping by it.

Numbers are themselves, dates the days and times the microseconds since 1970, texts themselves.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

Value = int | str
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def spark_literal(value: Value, kind: T.DataType) -> Column:
    """A text comes from a producer and never becomes a part of an SQL text, in which Spark would replace `${env:NAME}`.
    All other values are digits: parsed, they get exactly the type that they are written in."""
    if isinstance(value, str):
        return F.lit(value)
    if isinstance(kind, T.DateType):
        return F.expr(f"DATE '{(EPOCH + timedelta(days=value)).date()}'")
    if isinstance(kind, T.TimestampType):
        return F.expr(f"TIMESTAMP '{(EPOCH + timedelta(microseconds=value)).isoformat()}'")
    return F.expr(f"{value}L" if isinstance(kind, T.LongType) else str(value))


def kernel_literal(literals: Any, value: Value, kind: T.DataType) -> Any:
    """By the class of literals that Delta Kernel has."""
    if isinstance(value, str):
        return literals.ofString(value)
    if isinstance(kind, T.DateType):
        return literals.ofDate(value)
    if isinstance(kind, T.TimestampType):
        return literals.ofTimestamp(value)
    return literals.ofLong(value) if isinstance(kind, T.LongType) else literals.ofInt(value)
