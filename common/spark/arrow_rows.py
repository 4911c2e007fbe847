"""Decide which rows the driver can collect as Arrow."""

from functools import cache

from pyspark.errors import PySparkException
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from common.rules.compare import arrow_type


# The rows of a pipeline have the same schema in each batch.
@cache
def can_collect(schema: T.StructType, compared: tuple[str, ...]) -> bool:
    """True where Arrow can hold such rows, and rules/ can compare these columns of them as Spark does."""
    if has_variant(schema):
        # Spark writes a VARIANT to Arrow, and does not read it back.
        return False
    try:
        to_arrow_schema(schema)
    except PySparkException:
        return False
    return all(arrow_type(schema[name].dataType.simpleString()) is not None for name in compared)


def has_variant(kind: T.DataType) -> bool:
    """True where a VARIANT is somewhere in the type."""
    if isinstance(kind, T.StructType):
        return any(has_variant(field.dataType) for field in kind)
    if isinstance(kind, T.ArrayType):
        return has_variant(kind.elementType)
    return has_variant(kind.valueType) if isinstance(kind, T.MapType) else isinstance(kind, T.VariantType)
