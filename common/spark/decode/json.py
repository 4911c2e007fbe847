"""Decode JSON values to typed columns, strictly and in the JVM: docs/json.md.

Spark's from_json is lenient where a table needs certainty: it takes numbers for strings, the last of two equal names,
and ignores what follows the first value. The VARIANT parser is strict, and gives the type of each value.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.model.record import RECORD
from common.settings.kinds import is_plain
from common.settings.source import Source
from common.spark.columns import is_utf8
from common.spark.decode.json_nested import nested_columns, nested_rejection, nested_temporary_columns
from common.spark.decode.json_values import is_exact, may_become, typed_value
from common.spark.decode.json_variant import FLAT, JSON, TEXT, at, type_at
from common.spark.validate.rejection import Rejection

# The parser stops after the first value. So a record is parsed inside an array that has to end with this mark, and
# nothing can follow the record unseen. No record can contain the mark, because it is a new one in each process.
MARK = uuid.uuid4().hex
# Half of a surrogate pair is no character. It remains where escaped backslashes and whole pairs are removed.
PAIRED = r"\\\\|(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}"
LONE_SURROGATE = r"(?i)\\ud[89a-f]"
OBJECT = r"^\s*\{"


@dataclass(frozen=True)
class JsonDecoder:
    """Decoder of one JSON object a record. The pipeline's file has everything that it needs."""

    columns: Mapping[str, str]
    max_bytes: int

    @classmethod
    def of(cls, source: Source) -> "JsonDecoder":
        return cls(source.columns, source.max_record_bytes)

    def with_event(self, records: DataFrame) -> DataFrame:
        return with_event(records, self.columns, self.max_bytes)

    def temporary_columns(self) -> list[str]:
        return temporary_columns(self.columns)

    def rejections(self) -> list[Rejection]:
        return json_rejections(self.columns, self.max_bytes)

    def key_rejections(self, keys: Sequence[str]) -> list[Rejection]:
        return json_rejections({name: self.columns[name] for name in keys}, self.max_bytes)

    def with_schemas_seen_in(self, classified: Callable[[], DataFrame]) -> None:  # noqa: ARG002
        return None


def with_event(records: DataFrame, columns: Mapping[str, str], max_bytes: int) -> DataFrame:
    """Add the declared columns. What could not be decoded is null in them, and has a rejection.

    This is one select, in which each column may name those before it, because Spark analyses the whole plan again for
    each further one.
    """
    parsed = (text(max_bytes).alias(TEXT), is_flat().alias(FLAT), parsed_text().alias(JSON))
    plain, nested = divided(columns)
    types = (type_at(f"$[0].{name}").alias(type_column(name)) for name in plain)
    decoded = records.select("*", *parsed, *types, *(typed(name, kind).alias(name) for name, kind in plain.items()))
    return decoded.select("*", *nested_columns(nested)) if nested else decoded


def divided(columns: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Split the columns into plain and nested ones."""
    plain = {name: kind for name, kind in columns.items() if is_plain(kind)}
    return plain, {name: kind for name, kind in columns.items() if name not in plain}


def temporary_columns(columns: Mapping[str, str]) -> list[str]:
    """Return the columns that only the rejections need."""
    plain, nested = divided(columns)
    of_plain = [TEXT, FLAT, JSON, *(type_column(name) for name in plain)]
    return [*of_plain, *nested_temporary_columns(nested)] if nested else of_plain


def json_rejections(columns: Mapping[str, str], max_bytes: int) -> list[Rejection]:
    """Return the rejections in the order in which a reader of the bytes would notice."""
    of_values = (
        type_rejection(name, kind) if is_plain(kind) else nested_rejection(name, kind) for name, kind in columns.items()
    )
    return [*text_rejections(max_bytes), *of_values]


# A column takes a hundred calls into the JVM to make. It belongs to no table, so it is made once, not for each batch.
@cache
def text(max_bytes: int) -> Column:
    value = F.col(f"{RECORD}.value")
    return F.when(F.length(value) <= max_bytes, value.cast("string"))


@cache
def is_flat() -> Column:
    """True where the object has only names and plain values: no bracket opens anything after the first one."""
    return (F.locate("{", F.col(TEXT), 2) == 0) & ~F.col(TEXT).contains("[")


@cache
def parsed_text() -> Column:
    return parsed(F.col(TEXT))


def parsed(text: Column) -> Column:
    wrapped = F.concat(F.lit("["), text, F.lit(f',"{MARK}"]'))
    return F.call_function("try_parse_json", wrapped)


def is_one_json(text: Column) -> Column:
    """True where a text is one JSON value and nothing else."""
    return F.coalesce(F.try_variant_get(parsed(text), "$[1]", "string") == MARK, F.lit(False))  # noqa: FBT003


@cache
def text_rejections(max_bytes: int) -> tuple[Rejection, ...]:
    value = F.col(f"{RECORD}.value")
    text = F.col(TEXT)
    ends_with_mark = (type_at("$[1]") == "STRING") & (at("$[1]", "string") == MARK)
    is_json = F.coalesce(ends_with_mark, F.lit(False))  # noqa: FBT003
    # Nearly always the object begins at once, and that is quicker to see without a regular expression.
    is_object = text.startswith("{") | text.rlike(OBJECT)
    has_lone_surrogate = text.contains("\\u") & F.regexp_replace(text, PAIRED, "").rlike(LONE_SURROGATE)
    return (
        Rejection("NULL_VALUE", value.isNull(), F.lit("the record has no value")),
        Rejection(
            "OVERSIZED", F.length(value) > max_bytes, F.concat(F.length(value), F.lit(f" bytes, {max_bytes} allowed"))
        ),
        Rejection("NOT_UTF8", ~is_utf8(text), F.lit("the value is not UTF-8")),
        Rejection("NOT_JSON", ~is_json | has_lone_surrogate, F.lit("the value is not one JSON text")),
        Rejection("NOT_AN_OBJECT", ~is_object, F.concat(F.lit("an object is wanted, not "), type_at("$[0]"))),
    )


@cache
def type_rejection(name: str, kind: str) -> Rejection:
    """Reject a value that exists, is not null, and is not of the declared type. A cast alone would round or wrap."""
    json_type = F.col(type_column(name))
    fits = may_become(kind, json_type) & is_exact(kind, json_type, F.col(name))
    return Rejection(
        "WRONG_TYPE", (json_type != "VOID") & ~fits, F.concat(F.lit(f"{name}: {kind} is wanted, not "), json_type)
    )


@cache
def typed(name: str, kind: str) -> Column:
    return typed_value(kind, F.col(type_column(name)), lambda wanted: at(f"$[0].{name}", wanted))


def type_column(name: str) -> str:
    return f"_type_{name}"
