"""JSON values to typed columns, strictly and in the JVM.

Spark's from_json is lenient where a table needs certainty: it takes numbers for strings, the last of two equal names,
and ignores what follows the first value. The VARIANT parser is strict, and tells each value's own type.
"""

import re
from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.divide.verdict import Verdict
from common.read.kafka import RECORD

TEXT = "_text"
JSON = "_json"
# The parser stops after the first value. Inside an array that must end with this mark, nothing can follow unseen.
MARK = "9f0c7a51-3b86-4a0e-9d6e-1c2f5d7e8a90"
# An escaped half of a surrogate pair is no character. It is what remains without escaped backslashes and whole pairs.
PAIRED = r"\\\\|(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}"
LONE_SURROGATE = r"(?i)\\ud[89a-f]"
# Spark's own cast takes 10:00 for an hour of today.
ISO = {
    "date": r"^\d{4}-\d\d-\d\d$",
    "timestamp": r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?$",
}


def with_event(records: DataFrame, columns: Mapping[str, str], max_bytes: int) -> DataFrame:
    """Adds the declared columns; what could not be decoded is null in them and has a verdict."""
    value = F.col(f"{RECORD}.value")
    text = F.when(F.length(value) <= max_bytes, value.cast("string"))
    wrapped = F.concat(F.lit("["), F.col(TEXT), F.lit(f',"{MARK}"]'))
    parsed = records.withColumn(TEXT, text).withColumn(JSON, F.call_function("try_parse_json", wrapped))
    return parsed.withColumns({name: canonical(typed(name, kind), kind) for name, kind in columns.items()})


def json_verdicts(columns: Mapping[str, str], max_bytes: int) -> list[Verdict]:
    """In the order in which a reader of the bytes would notice."""
    value = F.col(f"{RECORD}.value")
    text = F.col(TEXT)
    kind = F.expr(f"schema_of_variant(try_variant_get({JSON}, '$[0]', 'variant'))")
    ends_with_mark = F.expr(f"try_variant_get({JSON}, '$[1]', 'string') <=> '{MARK}'")
    has_lone_surrogate = text.contains("\\u") & F.regexp_replace(text, PAIRED, "").rlike(LONE_SURROGATE)
    return [
        Verdict("NULL_VALUE", value.isNull(), F.lit("the record has no value")),
        Verdict(
            "OVERSIZED", F.length(value) > max_bytes, F.concat(F.length(value), F.lit(f" bytes, {max_bytes} allowed"))
        ),
        Verdict("NOT_UTF8", ~F.call_function("is_valid_utf8", text), F.lit("the value is not UTF-8")),
        Verdict("NOT_JSON", ~ends_with_mark | has_lone_surrogate, F.lit("the value is not one JSON text")),
        Verdict("NOT_AN_OBJECT", ~kind.startswith("OBJECT"), F.concat(F.lit("an object is wanted, not "), kind)),
        *(type_verdict(name, kind) for name, kind in columns.items()),
    ]


def type_verdict(name: str, kind: str) -> Verdict:
    """A value that is there, is not null, and is not of the declared type; a cast alone would round or wrap."""
    found = F.expr(f"schema_of_variant(try_variant_get({JSON}, '$[0].{name}', 'variant'))")
    fits = found.rlike(json_types(kind)) & is_exact(name, kind)
    return Verdict("WRONG_TYPE", (found != "VOID") & ~fits, F.concat(F.lit(f"{name}: {kind} is wanted, not "), found))


def json_types(kind: str) -> str:
    """The types of JSON values that may become a column of this kind."""
    if kind in {"double", "float"} or kind.startswith("decimal"):
        return "^(BIGINT|DOUBLE|DECIMAL.*)$"
    if kind in {"bigint", "int"}:
        return "^BIGINT$"
    return "^BOOLEAN$" if kind == "boolean" else "^STRING$"


def is_exact(name: str, kind: str) -> Column:
    """The typed value exists and says the same as the text: 1e400 is no double, 70000000000 no int."""
    value = typed(name, kind)
    if kind in {"double", "float"}:
        return value.isNotNull() & (F.abs(value) != float("inf"))
    if kind.startswith("decimal"):
        return value.isNotNull() & (value == typed(name, widest(kind)))
    return value.isNotNull()


def widest(decimal: str) -> str:
    """As many digits before the point, and all that there can be behind it."""
    precision, scale = (int(digits) for digits in re.findall(r"\d+", decimal))
    return f"decimal(38,{38 - (precision - scale)})"


def typed(name: str, kind: str) -> Column:
    if kind in ISO:
        text = F.expr(f"try_variant_get({JSON}, '$[0].{name}', 'string')")
        return F.when(text.rlike(ISO[kind]), text.try_cast(kind))
    return F.expr(f"try_variant_get({JSON}, '$[0].{name}', '{kind}')")


def canonical(value: Column, kind: str) -> Column:
    """-0.0 and 0.0 are one number, so they are one key."""
    return F.when(value == 0, F.lit(0).cast(kind)).otherwise(value) if kind in {"double", "float"} else value
