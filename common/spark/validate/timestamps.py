"""Read dates and times from text, and accept less than Spark's own cast does."""

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

# Spark's cast takes 10:00 for an hour of today and 2023 for its first of January, and trims.
# The patterns end with \z, because $ lets a newline follow.
DATE = r"(?!0000)\d{4}-\d\d-\d\d"
CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?"
ISO = {"date": rf"^{DATE}\z", "timestamp": rf"^{DATE}[T ]{CLOCK}\z"}
# Spark's cast wants seconds before a zone.
NO_SECONDS = r"^(.{16})(?!:)"
# A time zone may move a time of the first or the last day out of the years with four digits.
YEARS = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
# Python's times are limited to the years 1 to 9999 in every zone that shows them, so a day less in each direction.
READABLE = ("0001-01-02T00:00:00Z", "9999-12-30T23:59:59Z")


def moment(text: Column, kind: str) -> Column:
    """Read the date or timestamp that the text is; null where it is none."""
    if kind == "date":
        return F.when(text.rlike(ISO[kind]), text.try_cast(kind))
    time = F.when(text.rlike(ISO[kind]), F.regexp_replace(text, NO_SECONDS, "$1:00").try_cast(kind))
    return F.when(in_years(time, kind), time)


def in_years(time: Column, kind: str | T.DataType) -> Column:
    """True for a date or a timestamp of the years 0001 to 9999."""
    first, last = (F.lit(end).cast("timestamp").cast(kind) for end in YEARS)
    return time.between(first, last)


def is_readable(time: Column) -> Column:
    """True where every reader can read a record's own time. The ends do not count: `readable` gives them for others."""
    first, last = ends()
    return (time > first) & (time < last)


def readable(time: Column) -> Column:
    """Return the nearest time that every reader of a table can read."""
    first, last = ends()
    return F.when(time < first, first).when(time > last, last).otherwise(time)


def ends() -> tuple[Column, Column]:
    first, last = (F.lit(end).cast("timestamp") for end in READABLE)
    return first, last
