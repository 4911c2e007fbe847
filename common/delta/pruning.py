"""Where the keys of a batch can be in the table, from the batch's own values: all that Delta can leave files unread by.

A row of the table that has a key of the batch also has the batch's value in each prune column, because the column is
part of the key or never changes for one. So what holds none of these values holds none of these rows. docs/pruning.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.literals import Value, spark_literal
from common.delta.sql_text import quoted
from common.settings.pipeline import PRUNABLE, Pipeline
from common.spark.queries import JsonRow

# So many ranges a column: one late row does not widen the bounds to the whole history.
MAX_RANGES = 64
# So many values of a key that nobody has asked to prune by are divided into ranges; more of them are one range.
MAX_DIVIDED = 10_000
# So many bytes of a text tell how far it is from another.
PREFIX = 14
Kinds = tuple[tuple[str, T.DataType], ...]
# Between two neighbours of these there is nothing.
DISCRETE = (T.IntegerType, T.LongType, T.DateType)


@dataclass(frozen=True)
class Range:
    """From the first to the last value of a range."""

    first: Value
    last: Value


@dataclass(frozen=True)
class ValueRanges:
    """The values that a batch has in a column: at most SPANS ranges, divided at the widest gaps, and perhaps a null."""

    ranges: Sequence[Range]
    has_null: bool


@dataclass(frozen=True)
class PruneBound:
    """One column's part: a row with a key of the batch lies in one of the spans, or has a null where that may be."""

    column: str
    kind: T.DataType
    ranges: Sequence[Range]
    or_null: bool

    def condition(self) -> Column:
        """The bound as a condition on the table, which is called `t`."""
        column = F.col(f"t.{quoted(self.column)}")
        branches = [self._holds(column, span) for span in self.ranges]
        return reduce(or_, [*branches, column.isNull()] if self.or_null else branches)

    def _holds(self, column: Column, span: Range) -> Column:
        first, last = (spark_literal(value, self.kind) for value in (span.first, span.last))
        return column == first if span.first == span.last else column.between(first, last)


def condition_of(bounds: Sequence[PruneBound]) -> Column | None:
    """All bounds at once, as a condition on the table, which is called `t`. None where nothing bounds the batch."""
    return reduce(and_, [bound.condition() for bound in bounds]) if bounds else None


def column_types(schema: T.StructType, columns: Sequence[str]) -> Kinds:
    return tuple((name, schema[name].dataType) for name in columns)


def undeclared_keys(schema: T.StructType, pipeline: Pipeline) -> list[str]:
    """Keys to prune by although the pipeline does not say so: a row with a key of the batch has its value, so that is
    always sound where Delta can skip by the column's type."""
    keys = [key for key in pipeline.target.keys if key not in pipeline.target.prune_by]
    return [key for key in keys if schema[key].dataType.simpleString() in PRUNABLE]


def bounds_by(found: Mapping[str, ValueRanges], kinds: Kinds, pipeline: Pipeline) -> list[PruneBound]:
    """What every row with a key of the batch fulfils. Empty: any row may have one."""
    keys, bounds = pipeline.target.keys, []
    for name, kind in kinds:
        # Where the pipeline deletes, a null is a tombstone's: what its row has in the column is unknown.
        if not (pipeline.deletes and found[name].has_null):
            # Rows from before a column was declared may have a null in it; no key is null.
            bounds.append(PruneBound(name, kind, found[name].ranges, or_null=name not in keys))
    return bounds


def value_ranges_of(column: pa.ChunkedArray, kind: T.DataType) -> ValueRanges:
    """Of a column that this process holds."""
    held = sorted(ordinals_held(pc.unique(column.drop_null())))
    numbers = [prefix_held(value) if isinstance(value, str) else value for value in held]
    nothing_between = 1 if isinstance(kind, DISCRETE) else 0
    gaps = [(after - before, at) for at, (before, after) in enumerate(pairwise(numbers), start=1)]
    widest = sorted((each for each in gaps if each[0] > nothing_between), reverse=True)[: MAX_RANGES - 1]
    starts = [0, *sorted(at for _, at in widest), len(held)] if held else []
    ranges = [Range(held[start], held[after - 1]) for start, after in pairwise(starts)]
    return ValueRanges(ranges, has_null=column.null_count > 0)


def whole_range_of(column: pa.ChunkedArray) -> ValueRanges:
    """From the least to the greatest value of a column that this process holds, as one span: soon told of many."""
    ends = pc.min_max(column)
    first, last = ordinals_held(pa.array([ends["min"].as_py(), ends["max"].as_py()], column.type))
    return ValueRanges([] if first is None else [Range(first, last)], has_null=column.null_count > 0)


def ordinals_held(values: pa.Array) -> list[Any]:
    """As `ordinal`; texts as themselves."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    return list(values.to_pylist())


def prefix_held(text: str) -> int:
    """As `of_prefix`."""
    return int.from_bytes(text.encode()[:PREFIX].ljust(PREFIX, b"\0"))


def ranges_column(kinds: Kinds, where: Column, undivided: Sequence[str] = ()) -> Column:
    """For each column its values as at most SPANS ranges, divided at the widest gaps, and whether one is null.

    As arrays, and not by windows, which are several queries' worth of planning: in one task, as large as the batch.
    `undivided` columns are one range each, which costs nothing, however large the batch is.
    """
    return F.struct(*(of_column(name, kind, where, name in undivided).alias(name) for name, kind in kinds))


def of_column(name: str, kind: T.DataType, where: Column, is_undivided: bool) -> Column:  # noqa: FBT001
    has_null = F.max(where & F.col(quoted(name)).isNull())
    found = whole(name, kind, where) if is_undivided else divided(name, kind, where)
    return F.struct(found.alias("spans"), has_null.alias("has_null"))


def whole(name: str, kind: T.DataType, where: Column) -> Column:
    values = F.when(where, F.col(quoted(name)))
    first, last = (numbered(end, kind) for end in (F.min(values), F.max(values)))
    return F.when(F.min(values).isNotNull(), F.array(F.struct(first.alias("first"), last.alias("last"))))


def divided(name: str, kind: T.DataType, where: Column) -> Column:
    return let(in_order(name, kind, where), lambda held: let(starts(held, kind), lambda at: ranges(held, at)))


def let(value: Column, then: Callable[[Column], Column]) -> Column:
    """What follows from a value, which is computed once and not wherever it is named."""
    return F.get(F.transform(F.array(value), then), F.lit(0))


def in_order(name: str, kind: T.DataType, where: Column) -> Column:
    """The values, each once, by their numbers."""
    values = F.collect_set(F.when(where, F.col(quoted(name))))
    return F.sort_array(F.transform(values, lambda value: numbered(value, kind)))


def numbered(value: Column, kind: T.DataType) -> Column:
    """A value as a number that tells how far it is from another, and a text also as itself."""
    itself = value if isinstance(kind, T.StringType) else F.lit(None)
    number = ordinal(value, kind).cast("decimal(38,0)")
    return F.struct(number.alias("ordinal"), itself.cast("string").alias("text"))


def starts(held: Column, kind: T.DataType) -> Column:
    """Where a range begins, besides at the first value: after the widest gaps."""

    def gap_before(value: Column, index: Column) -> Column:
        return F.struct((value["ordinal"] - F.get(held, index - 1)["ordinal"]).alias("gap"), index.alias("at"))

    nothing_between = 1 if isinstance(kind, DISCRETE) else 0
    gaps = F.filter(F.transform(held, gap_before), lambda each: each["gap"] > nothing_between)
    widest = F.slice(F.sort_array(gaps, asc=False), 1, MAX_RANGES - 1)
    return F.sort_array(F.transform(widest, lambda each: each["at"]))


def ranges(held: Column, starts: Column) -> Column:
    def span(start: Column, index: Column) -> Column:
        after = F.coalesce(F.get(starts, index), F.size(held))
        return F.struct(F.get(held, start).alias("first"), F.get(held, after - 1).alias("last"))

    return F.transform(F.concat(F.array(F.lit(0)), starts), span)


def ordinal(column: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.DateType):
        return F.unix_date(column)
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    return of_prefix(column) if isinstance(kind, T.StringType) else column


def of_prefix(text: Column) -> Column:
    """The first bytes as one number, in the order of texts: two halves, because conv knows 64 bits."""
    digits = F.rpad(F.hex(F.substring(text.cast("binary"), 1, PREFIX)), 2 * PREFIX, "0")
    high, low = (F.conv(F.substring(digits, place, PREFIX), 16, 10).cast("decimal(18,0)") for place in (1, PREFIX + 1))
    return high * F.lit(2**56).cast("decimal(17,0)") + low


def ranges_from_json(found: JsonRow, kind: T.DataType) -> ValueRanges:
    """The answer to `spans_of`. A column with nothing but nulls has a span that begins nowhere; without rows nobody
    says whether there is a null."""
    ranges = [
        Range(value_from_json(each["first"], kind), value_from_json(each["last"], kind))
        for each in found.get("spans", [])
        if "first" in each
    ]
    return ValueRanges(ranges, found.get("has_null", False))


def value_from_json(found: JsonRow, kind: T.DataType) -> Value:
    return str(found["text"]) if isinstance(kind, T.StringType) else int(found["ordinal"])
