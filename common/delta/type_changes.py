"""Decide which types hold every value of another type exactly, and which of these changes Delta can make."""

from pyspark.sql import types as T

DISCRETE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
# Digits that a decimal needs before its point, as Delta counts them: files keep the two smallest types as ints.
DIGITS: dict[type[T.DataType], int] = {T.ByteType: 10, T.ShortType: 10, T.IntegerType: 10, T.LongType: 20}


def holds(wide: T.DataType, narrow: T.DataType) -> bool:
    """True where each value of `narrow` is the same value in `wide`, so that a cast between them loses nothing."""
    if is_same(wide, narrow):
        return True
    if isinstance(wide, T.StructType) and isinstance(narrow, T.StructType):
        return holds_struct(wide, narrow)
    if isinstance(wide, T.ArrayType) and isinstance(narrow, T.ArrayType):
        return holds(wide.elementType, narrow.elementType)
    if isinstance(wide, T.MapType) and isinstance(narrow, T.MapType):
        return holds(wide.keyType, narrow.keyType) and holds(wide.valueType, narrow.valueType)
    return widens(narrow, wide)


def holds_struct(wide: T.StructType, narrow: T.StructType) -> bool:
    """Compare field by field in their order, because Spark casts a struct by position."""
    if len(wide.fields) != len(narrow.fields):
        return False
    pairs = list(zip(wide.fields, narrow.fields, strict=True))
    same_names = all(one.name.lower() == other.name.lower() for one, other in pairs)
    return same_names and all(holds(one.dataType, other.dataType) for one, other in pairs)


def is_same(one: T.DataType, other: T.DataType) -> bool:
    """Compare without nullability, as a table's schema and a query's may differ in it."""
    return one.simpleString() == other.simpleString()


def widens(narrow: T.DataType, wide: T.DataType) -> bool:
    """True where Delta's type widening changes a column of `narrow` to `wide`; every value stays the same number."""
    if isinstance(wide, T.DecimalType):
        return widens_to_decimal(narrow, wide)
    if isinstance(narrow, DISCRETE) and isinstance(wide, DISCRETE):
        return DISCRETE.index(type(narrow)) < DISCRETE.index(type(wide))
    if isinstance(wide, T.DoubleType):
        return isinstance(narrow, (T.FloatType, T.ByteType, T.ShortType, T.IntegerType))
    return False


def widens_to_decimal(narrow: T.DataType, wide: T.DecimalType) -> bool:
    if isinstance(narrow, T.DecimalType):
        more_scale, more_digits = wide.scale - narrow.scale, wide.precision - narrow.precision
        return more_scale >= 0 and more_digits >= more_scale and (more_scale, more_digits) != (0, 0)
    return type(narrow) in DIGITS and wide.precision - wide.scale >= DIGITS[type(narrow)]
