"""Recognise columns that a table fills by itself."""

from pyspark.sql import types as T

# Keys in a field's metadata, where Delta stores how the column is computed.
DEFAULT = "CURRENT_DEFAULT"
GENERATED = "delta.generationExpression"
IDENTITY = "delta.identity."


def fills_itself(field: T.StructField) -> bool:
    """True for a generated or an identity column: Delta computes its value, whoever writes the row."""
    return any(name == GENERATED or name.startswith(IDENTITY) for name in field.metadata or {})


def has_default(field: T.StructField) -> bool:
    return DEFAULT in (field.metadata or {})
