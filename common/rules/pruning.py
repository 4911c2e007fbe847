"""Where the keys of a batch can be in the table, from the batch's own values: all that Delta can skip files by.

A row of the table that has a key of the batch also has the batch's value in each prune column, because the column is
part of the key or never changes for one. So what holds none of these values holds none of these rows. docs/pruning.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# Numbers are themselves, dates the days and times the microseconds since 1970, texts themselves.
Value = int | str
# Prune columns with Spark's names of their types.
ColumnTypes = tuple[tuple[str, str], ...]
# Between two neighbours of these there is nothing.
DISCRETE = ("int", "bigint", "date")
# Ranges of one column: one late row does not widen the bounds to the whole history.
MAX_RANGES = 64
# So many bytes of a text tell how far it is from another.
PREFIX = 14


@dataclass(frozen=True)
class Range:
    """From the first to the last value."""

    first: Value
    last: Value


@dataclass(frozen=True)
class ValueRanges:
    """The values of a batch in a column: at most MAX_RANGES ranges, divided at the widest gaps, and perhaps a null."""

    ranges: Sequence[Range]
    has_null: bool


@dataclass(frozen=True)
class PruneBound:
    """One column's part: a row with a key of the batch lies in one of the ranges, or has a null where that may be."""

    column: str
    type: str
    ranges: Sequence[Range]
    or_null: bool


def prune_bounds(
    found: Mapping[str, ValueRanges], types: ColumnTypes, keys: Sequence[str], *, deletes: bool
) -> list[PruneBound]:
    """What every row with a key of the batch fulfils. Empty: any row may have one."""
    bounds = []
    for name, kind in types:
        # Where the pipeline deletes, a null is a tombstone's: what its row has in the column is unknown.
        if not (deletes and found[name].has_null):
            # Rows from before a column was declared may have a null in it; no key is null.
            bounds.append(PruneBound(name, kind, found[name].ranges, or_null=name not in keys))
    return bounds


def value_ranges(column: pa.ChunkedArray, kind: str) -> ValueRanges:
    """Divide the values of a column into ranges, at the widest gaps between them."""
    values = sorted(ordinals(pc.unique(column.drop_null())))
    numbers = [prefix_number(value) if isinstance(value, str) else value for value in values]
    nothing_between = 1 if kind in DISCRETE else 0
    gaps = [(after - before, at) for at, (before, after) in enumerate(pairwise(numbers), start=1)]
    widest = sorted((gap for gap in gaps if gap[0] > nothing_between), reverse=True)[: MAX_RANGES - 1]
    starts = [0, *sorted(at for _, at in widest), len(values)] if values else []
    ranges = [Range(values[start], values[after - 1]) for start, after in pairwise(starts)]
    return ValueRanges(ranges, has_null=column.null_count > 0)


def whole_range(column: pa.ChunkedArray) -> ValueRanges:
    """From the least to the greatest value of a column, as one range: quick to find among many values."""
    ends = pc.min_max(column)
    first, last = ordinals(pa.array([ends["min"].as_py(), ends["max"].as_py()], column.type))
    return ValueRanges([] if first is None else [Range(first, last)], has_null=column.null_count > 0)


def ordinals(values: pa.Array) -> list[Any]:
    """Values as numbers; texts as themselves."""
    if pa.types.is_temporal(values.type):
        values = values.cast(pa.int32() if pa.types.is_date(values.type) else pa.int64())
    return list(values.to_pylist())


def prefix_number(text: str) -> int:
    """The first bytes of a text as one number, in the order of texts."""
    return int.from_bytes(text.encode()[:PREFIX].ljust(PREFIX, b"\0"))
