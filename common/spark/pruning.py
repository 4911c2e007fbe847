"""Find the value ranges of a batch that Spark holds, and turn bounds into conditions: rules/pruning.py in SQL."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.rules.pruning import (
    DISCRETE,
    MAX_RANGES,
    PREFIX,
    ColumnTypes,
    PruneBound,
    Range,
    Value,
    ValueRanges,
)
from common.settings.pipeline import PRUNABLE, Pipeline
from common.spark.columns import let
from common.spark.sql_text import quoted

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def prune_condition(bounds: Sequence[PruneBound]) -> Column | None:
    """Combine all bounds into a condition on the table, which is called `t`; None where nothing bounds the batch."""
    return reduce(and_, map(condition_of, bounds)) if bounds else None


def condition_of(bound: PruneBound) -> Column:
    column = F.col(f"t.{quoted(bound.column)}")
    branches = [in_range(column, each, bound.type) for each in bound.ranges]
    return reduce(or_, [*branches, column.isNull()] if bound.or_null else branches)


def in_range(column: Column, each: Range, kind: str) -> Column:
    first, last = (literal_of(value, kind) for value in (each.first, each.last))
    return column == first if each.first == each.last else column.between(first, last)


def literal_of(value: Value, kind: str) -> Column:
    """Write a value as a literal of its column's own type, because a cast would keep Delta from skipping by it.

    A text comes from a producer and never becomes a part of an SQL text, in which Spark would replace `${env:NAME}`.
    All other values are digits, and parsing gives them exactly the type that they are written in.
    """
    if isinstance(value, str):
        return F.lit(value)
    if kind == "date":
        return F.expr(f"DATE '{(EPOCH + timedelta(days=value)).date()}'")
    if kind == "timestamp":
        return F.expr(f"TIMESTAMP '{(EPOCH + timedelta(microseconds=value)).isoformat()}'")
    return F.expr(f"{value}L" if kind == "bigint" else str(value))


# Both are the same in each batch of a pipeline.
@cache
def prune_types(schema: T.StructType, pipeline: Pipeline) -> ColumnTypes:
    """Return the prune columns with their types: those of `prune_by`, and keys that are not named there."""
    names = [*pipeline.target.prune_by, *undeclared_keys(schema, pipeline)]
    return tuple((name, schema[name].dataType.simpleString()) for name in names)


@cache
def undeclared_keys(schema: T.StructType, pipeline: Pipeline) -> tuple[str, ...]:
    """Return the keys to prune by although the pipeline does not name them.

    The row of a key has the key's value, so this is always sound where Delta can skip by the column's type.
    """
    keys = [key for key in pipeline.target.keys if key not in pipeline.target.prune_by]
    return tuple(key for key in keys if schema[key].dataType.simpleString() in PRUNABLE)


def ranges_column(types: ColumnTypes, where: Column, undivided: Sequence[str] = ()) -> Column:
    """Aggregate each column into at most MAX_RANGES ranges, divided at the widest gaps, and whether a value is null.

    It uses arrays and not windows, which take as long to plan as several queries. A column of `undivided` is one
    range, which costs nothing, however large the batch is.
    """
    return F.struct(*(ranges_of(name, kind, where, name in undivided).alias(name) for name, kind in types))


def ranges_of(name: str, kind: str, where: Column, is_undivided: bool) -> Column:  # noqa: FBT001
    has_null = F.max(where & F.col(quoted(name)).isNull())
    ranges = whole(name, kind, where) if is_undivided else divided(name, kind, where)
    return F.struct(ranges.alias("ranges"), has_null.alias("has_null"))


def whole(name: str, kind: str, where: Column) -> Column:
    values = F.when(where, F.col(quoted(name)))
    first, last = (numbered(end, kind) for end in (F.min(values), F.max(values)))
    return F.when(F.min(values).isNotNull(), F.array(F.struct(first.alias("first"), last.alias("last"))))


def divided(name: str, kind: str, where: Column) -> Column:
    return let(
        in_order(name, kind, where),
        lambda values: let(starts(values, kind), lambda at: ranges_between(values, at)),
    )


def in_order(name: str, kind: str, where: Column) -> Column:
    """Collect the distinct values, sorted by their numbers."""
    values = F.collect_set(F.when(where, F.col(quoted(name))))
    return F.sort_array(F.transform(values, lambda value: numbered(value, kind)))


def numbered(value: Column, kind: str) -> Column:
    """Pair a value with its number, which shows the distance between two values. A text is kept too."""
    itself = value if kind == "string" else F.lit(None)
    number = ordinal(value, kind).cast("decimal(38,0)")
    return F.struct(number.alias("ordinal"), itself.cast("string").alias("text"))


def starts(values: Column, kind: str) -> Column:
    """Return the places where a range begins after the first one: behind the widest gaps."""

    def gap_before(value: Column, index: Column) -> Column:
        return F.struct((value["ordinal"] - F.get(values, index - 1)["ordinal"]).alias("gap"), index.alias("at"))

    nothing_between = 1 if kind in DISCRETE else 0
    gaps = F.filter(F.transform(values, gap_before), lambda each: each["gap"] > nothing_between)
    widest = F.slice(F.sort_array(gaps, asc=False), 1, MAX_RANGES - 1)
    return F.sort_array(F.transform(widest, lambda each: each["at"]))


def ranges_between(values: Column, starts: Column) -> Column:
    def range_at(start: Column, index: Column) -> Column:
        after = F.coalesce(F.get(starts, index), F.size(values))
        return F.struct(F.get(values, start).alias("first"), F.get(values, after - 1).alias("last"))

    return F.transform(F.concat(F.array(F.lit(0)), starts), range_at)


def ordinal(column: Column, kind: str) -> Column:
    if kind == "date":
        return F.unix_date(column)
    if kind == "timestamp":
        return F.unix_micros(column)
    return prefix_number(column) if kind == "string" else column


def prefix_number(text: Column) -> Column:
    """Read the first bytes of a text as one number, in the order of texts. It has two halves: conv has 64 bits."""
    digits = F.rpad(F.hex(F.substring(text.cast("binary"), 1, PREFIX)), 2 * PREFIX, "0")
    high, low = (F.conv(F.substring(digits, place, PREFIX), 16, 10).cast("decimal(18,0)") for place in (1, PREFIX + 1))
    return high * F.lit(2**56).cast("decimal(17,0)") + low


def ranges_from_json(value: Mapping[str, Any], kind: str) -> ValueRanges:
    """Read a value of `ranges_column` from JSON, which leaves out nulls.

    A column with only nulls has a range without a first value. Without rows, `has_null` itself is null.
    """
    ranges = [
        Range(value_from_json(each["first"], kind), value_from_json(each["last"], kind))
        for each in value.get("ranges", [])
        if "first" in each
    ]
    return ValueRanges(ranges, value.get("has_null", False))


def value_from_json(value: Mapping[str, Any], kind: str) -> Value:
    return str(value["text"]) if kind == "string" else int(value["ordinal"])
