"""Reject values that Spark can compute, but that Python, Delta Kernel or other readers of a table cannot read.

Decoders let no such value pass. A derived column can compute one from valid values, and a file of a base load can have
one.
"""

from functools import cache

from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.spark.columns import is_utf8
from common.spark.validate.rejection import Rejection
from common.spark.validate.timestamps import in_years

MOMENTS = (T.DateType, T.TimestampType, T.TimestampNTZType)


# A column belongs to no table, so it is made once, and not for each batch.
@cache
def unfit_values(name: str, kind: T.DataType) -> tuple[Rejection, ...]:
    """Reject a year that does not have four digits, or bytes that are no text, by the type of the column."""
    value = F.col(name)
    if isinstance(kind, MOMENTS):
        words = F.concat(F.lit(f"{name}: {kind.simpleString()} of the years 0001 to 9999 is wanted, not "), value)
        return (Rejection("WRONG_TYPE", ~in_years(value, kind), words),)
    if isinstance(kind, T.StringType):
        return (Rejection("NOT_UTF8", ~is_utf8(value), F.lit(f"{name}: the text is not UTF-8")),)
    return ()
