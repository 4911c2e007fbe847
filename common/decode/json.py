"""JSON values to typed columns, strictly and in the JVM: docs/json.md.

Spark's from_json is lenient where a table needs certainty: it takes numbers for strings, the last of two equal names,
and ignores what follows the first value. The VARIANT parser is strict, and tells each value's own type.
"""

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.decode.keys import one_zero
from common.divide.moments import ISO, moment
from common.divide.verdict import Verdict
from common.read.kafka import RECORD
from common.settings.pipeline import Source

TEXT = "_text"
FLAT = "_flat"
JSON = "_json"
# The parser stops after the first value. Inside an array that must end with this mark, nothing can follow unseen. No
# record can bring the mark along, because it is a new one in each process.
MARK = uuid.uuid4().hex
# An escaped half of a surrogate pair is no character. It is what remains without escaped backslashes and whole pairs.
PAIRED = r"\\\\|(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}"
LONE_SURROGATE = r"(?i)\\ud[89a-f]"
OBJECT = r"^\s*\{"


@dataclass(frozen=True)
class JsonDecoder:
    """One JSON object a record. What it needs to know is in the pipeline's file."""

    columns: Mapping[str, str]
    max_bytes: int

    @classmethod
    def of(cls, source: Source) -> "JsonDecoder":
        return cls(source.columns, source.max_record_bytes)

    def with_event(self, records: DataFrame) -> DataFrame:
        return with_event(records, self.columns, self.max_bytes)

    def scaffold(self) -> list[str]:
        return scaffold(self.columns)

    def verdicts(self) -> list[Verdict]:
        return json_verdicts(self.columns, self.max_bytes)

    def key_verdicts(self, keys: Sequence[str]) -> list[Verdict]:
        return json_verdicts({name: self.columns[name] for name in keys}, self.max_bytes)

    def informed_by(self, judged: Callable[[], DataFrame]) -> None:  # noqa: ARG002
        return None


def with_event(records: DataFrame, columns: Mapping[str, str], max_bytes: int) -> DataFrame:
    """Adds the declared columns; what could not be decoded is null in them and has a verdict.

    In one step, in which each column may name those before it: Spark looks at the whole plan again for each step.
    """
    parsed = (text(max_bytes).alias(TEXT), is_flat().alias(FLAT), parsed_text().alias(JSON))
    types = (type_at(f"$[0].{name}").alias(type_column(name)) for name in columns)
    return records.select("*", *parsed, *types, *(typed(name, kind).alias(name) for name, kind in columns.items()))


def scaffold(columns: Iterable[str]) -> list[str]:
    """The columns that only the verdicts need."""
    return [TEXT, FLAT, JSON, *(type_column(name) for name in columns)]


def json_verdicts(columns: Mapping[str, str], max_bytes: int) -> list[Verdict]:
    """In the order in which a reader of the bytes would notice."""
    return [*text_verdicts(max_bytes), *(type_verdict(name, kind) for name, kind in columns.items())]


# A column is made by a hundred calls into the JVM. It belongs to no table, so each is made once and not for each batch.
@cache
def text(max_bytes: int) -> Column:
    value = F.col(f"{RECORD}.value")
    return F.when(F.length(value) <= max_bytes, value.cast("string"))


@cache
def is_flat() -> Column:
    """Nothing is inside of the object but names and plain values: no bracket after the first one opens anything."""
    return (F.locate("{", F.col(TEXT), 2) == 0) & ~F.col(TEXT).contains("[")


@cache
def parsed_text() -> Column:
    wrapped = F.concat(F.lit("["), F.col(TEXT), F.lit(f',"{MARK}"]'))
    return F.call_function("try_parse_json", wrapped)


@cache
def text_verdicts(max_bytes: int) -> tuple[Verdict, ...]:
    value = F.col(f"{RECORD}.value")
    text = F.col(TEXT)
    ends_with_mark = (type_at("$[1]") == "STRING") & (at("$[1]", "string") == MARK)
    is_json = F.coalesce(ends_with_mark, F.lit(False))  # noqa: FBT003
    # Nearly always it begins at once, which is told sooner without a regular expression.
    is_object = text.startswith("{") | text.rlike(OBJECT)
    has_lone_surrogate = text.contains("\\u") & F.regexp_replace(text, PAIRED, "").rlike(LONE_SURROGATE)
    return (
        Verdict("NULL_VALUE", value.isNull(), F.lit("the record has no value")),
        Verdict(
            "OVERSIZED", F.length(value) > max_bytes, F.concat(F.length(value), F.lit(f" bytes, {max_bytes} allowed"))
        ),
        Verdict("NOT_UTF8", ~F.call_function("is_valid_utf8", text), F.lit("the value is not UTF-8")),
        Verdict("NOT_JSON", ~is_json | has_lone_surrogate, F.lit("the value is not one JSON text")),
        Verdict("NOT_AN_OBJECT", ~is_object, F.concat(F.lit("an object is wanted, not "), type_at("$[0]"))),
    )


@cache
def type_verdict(name: str, kind: str) -> Verdict:
    """A value that is there, is not null, and is not of the declared type; a cast alone would round or wrap."""
    found = F.col(type_column(name))
    fits = may_become(kind, found) & is_exact(name, kind)
    return Verdict("WRONG_TYPE", (found != "VOID") & ~fits, F.concat(F.lit(f"{name}: {kind} is wanted, not "), found))


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


def is_exact(name: str, kind: str) -> Column:
    """The typed value exists and says the same as the text: 1e400 is no double, 70000000000 no int."""
    value = F.col(name)
    if kind in {"double", "float"}:
        return value.isNotNull() & (F.abs(value) != float("inf"))
    if kind.startswith("decimal"):
        return value.isNotNull() & (decimals(F.col(type_column(name))) <= int(re.findall(r"\d+", kind)[1]))
    return value.isNotNull()


def decimals(found: Column) -> Column:
    """Digits behind the point of a number of this type; VARIANT counts none that is only a zero at the end."""
    return F.coalesce(F.regexp_extract(found, r",(\d+)\)", 1).try_cast("int"), F.lit(0))


@cache
def typed(name: str, kind: str) -> Column:
    path, found = f"$[0].{name}", F.col(type_column(name))
    if kind in ISO:
        return F.when(found == "STRING", moment(at(path, "string"), kind))
    if kind in {"double", "float"}:
        # A float through its double, so that 1.5 and 15e-1 round alike.
        return one_zero(at(path, "double").cast(kind))
    # As a string, an object would be its JSON text, written by recursion: see type_at.
    return F.when(may_become(kind, found), at(path, kind))


def type_column(name: str) -> str:
    return f"_type_{name}"


@cache
def type_at(path: str) -> Column:
    """The type of the value at a path, null where there is none.

    Arrays and objects are told by a cast that does not look inside. schema_of_variant does, by recursion: an object
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
