"""JSON columns of more than one plain value: arrays, maps, structs, `variant` and `json`. docs/json.md has the table.

Each such value is taken out of the record as a VARIANT of its own, which is built by recursion: one that is nested too
deep would overflow the task's stack, and that ends the JVM instead of failing the record. So the depth is looked at
first. The text of a `json` column is cut out of the record, and has no such bound.
"""

from collections.abc import Mapping
from functools import cache, reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.settings.kinds import JSON, VARIANT, Array, Kind, parse_kind, sql_type
from common.spark.decode.json_text import PIECES, STRING, own_text, pieces, span, span_column
from common.spark.decode.json_values import is_exact, may_become, typed_value
from common.spark.decode.json_variant import JSON as PARSED
from common.spark.decode.json_variant import TEXT, at, type_of
from common.spark.decode.nested import VALUE, WRONG, judged, judgement, let, misfit, no_misfit
from common.spark.validate.rejection import Rejection

WRONG_TYPE = "WRONG_TYPE"
# How deep a value may be nested, besides that of a `json` column.
DEEPEST = 100
# VARIANT holds numbers of 38 digits and 38 decimals exactly, and all others as a double.
LONG = r"(?<![\d.eE+-])-?[1-9](?:\.?\d){38,}+(?![\d.eE])|\.\d{39,}+(?![\deE])"
SCIENTIFIC = r"-?\d[\d.]*+[eE][+-]?\d++"
# What one of these may be in, strings included: without a match there is none.
PERHAPS_INEXACT = r"\d[\d.]{38}|\d[eE]"


def nested_columns(columns: Mapping[str, str]) -> list[Column]:
    """The columns themselves behind what they are made of; each may name those before it."""
    looks = {kind: needs_text(kind) for kind in columns.values()}
    is_looked_at = F.col(PARSED).isNotNull() & reduce(Column.__or__, looks.values())
    found = [F.when(is_looked_at, pieces(TEXT)).alias(PIECES)]
    for name, kind in columns.items():
        found.append(F.when(looks[kind], span(name)).alias(span_column(name)))
        if kind == JSON:
            found.append(F.nullif(own_text(name), F.lit("null")).alias(name))
        else:
            found += [value_of(name).alias(value_column(name)), judged_value(name, kind).alias(judged_column(name))]
            found.append(F.col(judged_column(name))[VALUE].cast(sql_type(kind)).alias(name))
    return found


def nested_scaffold(columns: Mapping[str, str]) -> list[str]:
    """The columns that only the verdicts need."""
    made = [part(name) for name in columns for part in (span_column, value_column, judged_column)]
    return [PIECES, *made] if columns else []


@cache
def nested_verdict(name: str, kind: str) -> Rejection:
    """Too deep, or a value inside of it is not of the declared type."""
    if kind == JSON:
        return Rejection(WRONG_TYPE, F.lit(False), F.lit(""))  # noqa: FBT003
    wrong, levels = F.col(judged_column(name))[WRONG], F.col(span_column(name))["levels"]
    is_deep = F.coalesce(levels > DEEPEST, F.lit(False))  # noqa: FBT003
    too_deep = F.concat(F.lit(f"{name}: at most {DEEPEST} levels are wanted, not "), levels)
    misplaced = F.concat(F.lit(name), wrong["place"], F.lit(": "), wrong["words"])
    return Rejection(WRONG_TYPE, is_deep | wrong.isNotNull(), F.when(is_deep, too_deep).otherwise(misplaced))


@cache
def needs_text(kind: str) -> Column:
    """Whether the record's text has to be looked at: only where something may be too deep or too long."""
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
def judged_value(name: str, kind: str) -> Column:
    found = F.col(value_column(name))
    return variant_judged(name, found) if kind == VARIANT else judged(parse_kind(kind), found, JsonForm())


def variant_judged(name: str, found: Column) -> Column:
    """Any value, unless VARIANT would keep another number than was sent."""
    words = F.lit("a number has more than 38 digits, or is beyond the range of a double")
    inexact = F.col(span_column(name)).isNotNull() & is_inexact(own_text(name))
    return judgement(F.when(type_of(found) != "VOID", found), misfit(inexact, WRONG_TYPE, words))


def is_inexact(text: Column) -> Column:
    """A number of this JSON text is neither exact in VARIANT nor a double."""
    without_strings = F.regexp_replace(text, STRING, '""')
    scientific = F.regexp_extract_all(without_strings, F.lit(SCIENTIFIC), F.lit(0))
    return without_strings.rlike(LONG) | F.exists(
        scientific, lambda number: F.abs(number.try_cast("double")) == float("inf")
    )


class JsonForm:
    """Values are VARIANTs, opened level by level: common/spark/decode/nested.py."""

    def plain(self, kind: str, found: Column) -> Column:
        def of_type(told: Column) -> Column:
            value = typed_value(kind, told, lambda wanted: F.try_variant_get(found, "$", wanted))
            return let(value, lambda typed: of_value(told, typed))

        def of_value(told: Column, typed: Column) -> Column:
            fits = may_become(kind, told) & is_exact(kind, told, typed)
            return judgement(typed, misfit((told != "VOID") & ~fits, WRONG_TYPE, not_wanted(kind, told)))

        return let(type_of(found), of_type)

    def elements(self, found: Column) -> Column:
        return F.try_variant_get(found, "$", "array<variant>")

    def entries(self, found: Column) -> Column:
        return F.try_variant_get(found, "$", "map<string,variant>")

    def member(self, found: Column, name: str) -> Column:
        return F.try_variant_get(found, f"$.{name}", "variant")

    def is_struct(self, found: Column) -> Column:
        return type_of(found) == "OBJECT"

    def misfit(self, kind: Kind, found: Column) -> Column:
        wanted = "ARRAY" if isinstance(kind, Array) else "OBJECT"
        return let(
            type_of(found),
            lambda told: misfit(~told.isin("VOID", wanted), WRONG_TYPE, not_wanted(str(kind), told)),
        )

    def key_misfit(self, key: Column) -> Column:  # noqa: ARG002
        return no_misfit()


def not_wanted(kind: str, told: Column) -> Column:
    return F.concat(F.lit(f"{kind} is wanted, not "), told)


def value_column(name: str) -> str:
    return f"_value_{name}"


def judged_column(name: str) -> str:
    return f"_judged_{name}"
