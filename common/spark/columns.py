"""Build columns from other columns."""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F


def let(value: Column, use: Callable[[Column], Column]) -> Column:
    """Build `use(value)`, in which Spark computes the value once, however often it is named."""
    return F.get(F.transform(F.array(value), use), F.lit(0))


def is_utf8(text: Column) -> Column:
    """True where the bytes of a text are UTF-8."""
    return F.call_function("is_valid_utf8", text)
