"""Read values, and their types, from a record's text as VARIANT."""

from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F

TEXT = "_text"
FLAT = "_flat"
JSON = "_json"


@cache
def type_at(path: str) -> Column:
    """Return the type of the value at a path; null where there is none.

    A cast that does not look inside tells arrays and objects. schema_of_variant looks inside by recursion: an object
    within an object, 900 times, overflows the task's stack, and that ends the JVM instead of failing the record.
    """
    plain = F.call_function("schema_of_variant", at(path, "variant"))
    return (
        F.when(F.col(FLAT), plain)
        .when(at(path, "array<boolean>").isNotNull(), F.lit("ARRAY"))
        .when(at(path, "map<string,boolean>").isNotNull(), F.lit("OBJECT"))
        .otherwise(plain)
    )


def at(path: str, kind: str) -> Column:
    return F.expr(f"try_variant_get({JSON}, '{path}', '{kind}')")


def type_of(value: Column) -> Column:
    """Return the type of a value by itself, in the same way."""
    return (
        F.when(F.try_variant_get(value, "$", "array<boolean>").isNotNull(), F.lit("ARRAY"))
        .when(F.try_variant_get(value, "$", "map<string,boolean>").isNotNull(), F.lit("OBJECT"))
        .otherwise(F.call_function("schema_of_variant", value))
    )
