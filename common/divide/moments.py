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


def moment(text: Column, kind: str) -> Column:
    """The date or timestamp that the text is, or null."""
    if kind == "date":
        return F.when(text.rlike(ISO[kind]), text.try_cast(kind))
    found = F.when(text.rlike(ISO[kind]), F.regexp_replace(text, NO_SECONDS, "$1:00").try_cast(kind))
    first, last = (F.lit(end).cast(kind) for end in YEARS)
    return F.when(found.between(first, last), found)
