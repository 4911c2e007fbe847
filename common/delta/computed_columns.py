"""Columns that a table fills by itself."""

from pyspark.sql import types as T

# Where Delta notes how a column fills itself.
DEFAULT = "CURRENT_DEFAULT"
GENERATED = "delta.generationExpression"
IDENTITY = "delta.identity."


def fills_itself(field: T.StructField) -> bool:
    """True for a generated or an identity column: whoever writes a row, Delta computes its value."""
    return any(name == GENERATED or name.startswith(IDENTITY) for name in field.metadata or {})


def has_default(field: T.StructField) -> bool:
    return DEFAULT in (field.metadata or {})
