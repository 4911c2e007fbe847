"""Decode JSON columns of more than one plain value: arrays, maps, structs, `variant` and `json`. See docs/json.md.

Each such value is taken out of the record as a VARIANT of its own, which Spark builds by recursion. A value that is
nested too deep would overflow the task's stack, and that ends the JVM instead of failing the record. So the depth is
checked first. The text of a `json` column is cut out of the record, and has no such bound.
"""

from collections.abc import Mapping
from functools import cache, reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.settings.kinds import JSON, VARIANT, Array, Kind, parse_kind, sql_type
from common.spark.columns import let
from common.spark.decode.json_text import PIECES, STRING, own_text, pieces, span, span_column
from common.spark.decode.json_values import is_exact, may_become, typed_value
from common.spark.decode.json_variant import JSON as PARSED
from common.spark.decode.json_variant import TEXT, at, type_of
from common.spark.decode.nested import (
    VALUE,
    WRONG,
    misfit,
    misfit_message,
    no_misfit,
    not_wanted,
    validated,
    validated_column,
    validation,
)
from common.spark.validate.rejection import Rejection

WRONG_TYPE = "WRONG_TYPE"
# How deep a value may be nested, except in a `json` column.
DEEPEST = 100
# VARIANT holds numbers with up to 38 digits and 38 decimals exactly, and all others as a double.
LONG = r"(?<![\d.eE+-])-?[1-9](?:\.?\d){38,}+(?![\d.eE])|\.\d{39,}+(?![\deE])"
SCIENTIFIC = r"-?\d[\d.]*+[eE][+-]?\d++"
# A text that may have one of these numbers, strings included: without a match it has none.
PERHAPS_INEXACT = r"\d[\d.]{38}|\d[eE]"


def nested_columns(columns: Mapping[str, str]) -> list[Column]:
    """Build the columns, each behind the temporary ones that it is made of. A column may name those before it."""
    looks = {kind: needs_text(kind) for kind in columns.values()}
    is_looked_at = F.col(PARSED).isNotNull() & reduce(Column.__or__, looks.values())
    built = [F.when(is_looked_at, pieces(TEXT)).alias(PIECES)]
    for name, kind in columns.items():
        built.append(F.when(looks[kind], span(name)).alias(span_column(name)))
        if kind == JSON:
            built.append(F.nullif(own_text(name), F.lit("null")).alias(name))
        else:
            built += [
                value_of(name).alias(value_column(name)),
                validated_value(name, kind).alias(validated_column(name)),
            ]
            built.append(F.col(validated_column(name))[VALUE].cast(sql_type(kind)).alias(name))
    return built


def nested_temporary_columns(columns: Mapping[str, str]) -> list[str]:
    """Return the columns that only the rejections need."""
    return [PIECES, *(part(name) for name in columns for part in (span_column, value_column, validated_column))]


@cache
def nested_rejection(name: str, kind: str) -> Rejection:
    """Reject a column that is nested too deep, or has a value inside that is not of the declared type."""
    if kind == JSON:
        return Rejection(WRONG_TYPE, F.lit(False), F.lit(""))  # noqa: FBT003
    wrong, levels = F.col(validated_column(name))[WRONG], F.col(span_column(name))["levels"]
    is_deep = F.coalesce(levels > DEEPEST, F.lit(False))  # noqa: FBT003
    too_deep = F.concat(F.lit(f"{name}: at most {DEEPEST} levels are wanted, not "), levels)
    words = F.when(is_deep, too_deep).otherwise(misfit_message(name))
    return Rejection(WRONG_TYPE, is_deep | wrong.isNotNull(), words)


@cache
def needs_text(kind: str) -> Column:
    """True where the record's text has to be searched, because something may be too deep or too long."""
    text = F.col(TEXT)
    may_be_deep = F.length(text) - F.length(F.translate(text, "[{", "")) > DEEPEST
    if kind == JSON:
        return F.lit(True)  # noqa: FBT003
    return may_be_deep | text.rlike(PERHAPS_INEXACT) if kind == VARIANT else may_be_deep


@cache
def value_of(name: str) -> Column:
    levels = F.col(span_column(name))["levels"]
    return F.when(levels.isNull() | (levels <= DEEPEST), at(f"$[0].{name}", "variant"))


@cache
def validated_value(name: str, kind: str) -> Column:
    raw = F.col(value_column(name))
    return validated_variant(name, raw) if kind == VARIANT else validated(parse_kind(kind), raw, JsonForm())


def validated_variant(name: str, raw: Column) -> Column:
    """Accept any value, unless VARIANT would keep another number than was sent."""
    words = F.lit("a number has more than 38 digits, or is beyond the range of a double")
    inexact = F.col(span_column(name)).isNotNull() & is_inexact(own_text(name))
    return validation(F.when(type_of(raw) != "VOID", raw), misfit(inexact, WRONG_TYPE, words))


def is_inexact(text: Column) -> Column:
    """True where a number of this JSON text is neither exact in VARIANT nor a double."""
    without_strings = F.regexp_replace(text, STRING, '""')
    scientific = F.regexp_extract_all(without_strings, F.lit(SCIENTIFIC), F.lit(0))
    return without_strings.rlike(LONG) | F.exists(
        scientific, lambda number: F.abs(number.try_cast("double")) == float("inf")
    )


class JsonForm:
    """Values as VARIANTs, opened level by level: common/spark/decode/nested.py."""

    def plain(self, kind: str, raw: Column) -> Column:
        def of_type(json_type: Column) -> Column:
            value = typed_value(kind, json_type, lambda wanted: F.try_variant_get(raw, "$", wanted))
            return let(value, lambda typed: of_value(json_type, typed))

        def of_value(json_type: Column, typed: Column) -> Column:
            fits = may_become(kind, json_type) & is_exact(kind, json_type, typed)
            return validation(typed, misfit((json_type != "VOID") & ~fits, WRONG_TYPE, not_wanted(kind, json_type)))

        return let(type_of(raw), of_type)

    def elements(self, raw: Column) -> Column:
        return F.try_variant_get(raw, "$", "array<variant>")

    def entries(self, raw: Column) -> Column:
        return F.try_variant_get(raw, "$", "map<string,variant>")

    def member(self, raw: Column, name: str) -> Column:
        return F.try_variant_get(raw, f"$.{name}", "variant")

    def is_struct(self, raw: Column) -> Column:
        return type_of(raw) == "OBJECT"

    def misfit(self, kind: Kind, raw: Column) -> Column:
        wanted = "ARRAY" if isinstance(kind, Array) else "OBJECT"
        return let(
            type_of(raw),
            lambda json_type: misfit(~json_type.isin("VOID", wanted), WRONG_TYPE, not_wanted(str(kind), json_type)),
        )

    def key_misfit(self, key: Column) -> Column:  # noqa: ARG002
        return no_misfit()


def value_column(name: str) -> str:
    return f"_value_{name}"
