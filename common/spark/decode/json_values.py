"""Read one JSON value as a column of a plain kind holds it: exactly, or not at all. See docs/json.md.

`json_type` is the type of the value in VARIANT. `get` returns the value as one of Spark's types.
"""

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.settings.kinds import precision_and_scale
from common.spark.decode.canonical_keys import one_zero
from common.spark.validate.timestamps import ISO, moment

Get = Callable[[str], Column]


def may_become(kind: str, json_type: Column) -> Column:
    """True where a JSON value of this type may be in a column of this kind. A number with an exponent is a DOUBLE."""
    is_whole, is_decimal = json_type == "BIGINT", json_type.startswith("DECIMAL")
    if kind in {"double", "float"}:
        return is_whole | is_decimal | (json_type == "DOUBLE")
    if kind.startswith("decimal"):
        return is_whole | is_decimal
    if kind in {"bigint", "int"}:
        return is_whole
    return json_type == ("BOOLEAN" if kind == "boolean" else "STRING")


def typed_value(kind: str, json_type: Column, get: Get) -> Column:
    """Return the value in the column's type; null where it has another."""
    if kind in ISO:
        return F.when(json_type == "STRING", moment(get("string"), kind))
    if kind in {"double", "float"}:
        # A float is read by its double, so that 1.5 and 15e-1 round alike.
        return one_zero(get("double").cast(kind))
    # As a string, an object would be its JSON text, which is written by recursion: see type_at in json_variant.py.
    return F.when(may_become(kind, json_type), get(kind))


def is_exact(kind: str, json_type: Column, value: Column) -> Column:
    """True where the typed value exists and equals the text: 1e400 is no double, 70000000000 is no int."""
    if kind in {"double", "float"}:
        return value.isNotNull() & (F.abs(value) != float("inf"))
    if kind.startswith("decimal"):
        _, scale = precision_and_scale(kind)
        return value.isNotNull() & (decimals(json_type) <= scale)
    return value.isNotNull()


def decimals(json_type: Column) -> Column:
    """Return the digits behind the point of a number of this type. VARIANT does not count zeros at the end."""
    return F.coalesce(F.regexp_extract(json_type, r",(\d+)\)", 1).try_cast("int"), F.lit(0))
