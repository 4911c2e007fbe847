"""One JSON value as a column of a plain kind holds it: exactly, or not at all. docs/json.md has the table.

`found` is the type of the value as VARIANT tells it, `get` gives the value as one of Spark's types.
"""

import re
from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.spark.decode.canonical_keys import one_zero
from common.spark.validate.timestamps import ISO, moment

Get = Callable[[str], Column]


def may_become(kind: str, found: Column) -> Column:
    """Whether a JSON value of this type may be in a column of this kind. A number with an exponent is a DOUBLE."""
    is_whole, is_decimal = found == "BIGINT", found.startswith("DECIMAL")
    if kind in {"double", "float"}:
        return is_whole | is_decimal | (found == "DOUBLE")
    if kind.startswith("decimal"):
        return is_whole | is_decimal
    if kind in {"bigint", "int"}:
        return is_whole
    return found == ("BOOLEAN" if kind == "boolean" else "STRING")


def typed_value(kind: str, found: Column, get: Get) -> Column:
    """The value in the column's type, null where it has another."""
    if kind in ISO:
        return F.when(found == "STRING", moment(get("string"), kind))
    if kind in {"double", "float"}:
        # A float through its double, so that 1.5 and 15e-1 round alike.
        return one_zero(get("double").cast(kind))
    # As a string, an object would be its JSON text, written by recursion: see common/spark/decode/json.py, type_at.
    return F.when(may_become(kind, found), get(kind))


def is_exact(kind: str, found: Column, value: Column) -> Column:
    """The typed value exists and says the same as the text: 1e400 is no double, 70000000000 no int."""
    if kind in {"double", "float"}:
        return value.isNotNull() & (F.abs(value) != float("inf"))
    if kind.startswith("decimal"):
        return value.isNotNull() & (decimals(found) <= int(re.findall(r"\d+", kind)[1]))
    return value.isNotNull()


def decimals(found: Column) -> Column:
    """Digits behind the point of a number of this type; VARIANT counts none that is only a zero at the end."""
    return F.coalesce(F.regexp_extract(found, r",(\d+)\)", 1).try_cast("int"), F.lit(0))
