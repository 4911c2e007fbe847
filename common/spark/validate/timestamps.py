"""Dates and times as text: what counts as one, whatever else Spark's own cast would take for it."""

from pyspark.sql import Column
from pyspark.sql import functions as F

# Spark takes 10:00 for an hour of today, 2023 for its first of January, and trims. \z, because $ lets a newline follow.
DATE = r"(?!0000)\d{4}-\d\d-\d\d"
CLOCK = r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?"
ISO = {"date": rf"^{DATE}\z", "timestamp": rf"^{DATE}[T ]{CLOCK}\z"}
# Spark's cast wants seconds before a zone.
NO_SECONDS = r"^(.{16})(?!:)"
# A zone may carry the first and the last of these days out of the years that have four digits.
YEARS = ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z")
# Python's times end with the year 9999, in whatever zone it shows them: a day less in each direction.
READABLE = ("0001-01-02T00:00:00Z", "9999-12-30T23:59:59Z")


def moment(text: Column, kind: str) -> Column:
    """The date or timestamp that the text is, or null."""
    if kind == "date":
        return F.when(text.rlike(ISO[kind]), text.try_cast(kind))
    found = F.when(text.rlike(ISO[kind]), F.regexp_replace(text, NO_SECONDS, "$1:00").try_cast(kind))
    first, last = (F.lit(end).cast(kind) for end in YEARS)
    return F.when(found.between(first, last), found)


def is_readable(time: Column) -> Column:
    """Whether every reader knows a record's own time. The ends do not count: `readable` makes them of all others."""
    first, last = ends()
    return (time > first) & (time < last)


def readable(time: Column) -> Column:
    """The nearest time that every reader of a table knows."""
    first, last = ends()
    return F.when(time < first, first).when(time > last, last).otherwise(time)


def ends() -> tuple[Column, Column]:
    first, last = (F.lit(end).cast("timestamp") for end in READABLE)
    return first, last
