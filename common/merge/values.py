"""A column's value as a literal of its own type: a cast would keep Delta from skipping by it.

Numbers are themselves, dates the days and times the microseconds since 1970, texts themselves.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import types as T

from common.merge.quoting import literal

Value = int | str
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def sql_literal(value: Value, kind: T.DataType) -> str:
    if isinstance(value, str):
        return literal(value)
    if isinstance(kind, T.DateType):
        return f"DATE '{(EPOCH + timedelta(days=value)).date()}'"
    if isinstance(kind, T.TimestampType):
        return f"TIMESTAMP '{(EPOCH + timedelta(microseconds=value)).isoformat()}'"
    return f"{value}L" if isinstance(kind, T.LongType) else str(value)


def kernel_literal(literals: Any, value: Value, kind: T.DataType) -> Any:
    """By the class of literals that Delta Kernel has."""
    if isinstance(value, str):
        return literals.ofString(value)
    if isinstance(kind, T.DateType):
        return literals.ofDate(value)
    if isinstance(kind, T.TimestampType):
        return literals.ofTimestamp(value)
    return literals.ofLong(value) if isinstance(kind, T.LongType) else literals.ofInt(value)
