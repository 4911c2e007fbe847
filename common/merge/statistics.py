"""What Delta's log says of a data file: its rows, and of its first columns the least, the greatest and the nulls.

It is what others leave the file unread by. So where a value cannot be told exactly, nothing is told of the column:
then the file is read, and that is all.
"""

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

# All that Delta keeps of a text.
TEXT = 32
GREATEST = "\U0010ffff"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOT_ORDERED = (pa.bool_(), pa.binary())


def statistics_of(rows: pa.Table, indexed: int) -> str:
    """As the log keeps it. `indexed` is of how many columns; below zero, of all."""
    told = [(name, rows[name]) for name in indexed_columns(rows.schema, indexed)]
    ranges = {name: found for name, column in told if (found := range_of(column)) is not None}
    return json.dumps(
        {
            "numRecords": rows.num_rows,
            "minValues": {name: least for name, (least, _) in ranges.items()},
            "maxValues": {name: greatest for name, (_, greatest) in ranges.items()},
            "nullCount": {name: column.null_count for name, column in told},
        }
    )


def indexed_columns(schema: pa.Schema, indexed: int) -> Iterator[str]:
    """A struct counts by its fields, and nothing is told of them."""
    before = 0
    for field in schema:
        if 0 <= indexed <= before:
            return
        if not pa.types.is_struct(field.type):
            yield field.name
        before += leaves(field.type)


def leaves(kind: pa.DataType) -> int:
    return sum(leaves(field.type) for field in kind) if pa.types.is_struct(kind) else 1


def range_of(column: pa.ChunkedArray) -> tuple[Any, Any] | None:
    """The least and the greatest as the log writes them, or nothing where either cannot be written."""
    if column.type in NOT_ORDERED or column.null_count == len(column):
        return None
    if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
        return None
    least, greatest = pc.min_max(column).values()
    written = told_least(least), told_greatest(greatest)
    return None if None in written else written


def told_least(value: pa.Scalar) -> Any:
    if pa.types.is_string(value.type):
        return value.as_py()[:TEXT]
    # Of two zeros Arrow may give either.
    return -0.0 if pa.types.is_floating(value.type) and value.as_py() == 0 else told(value)


def told_greatest(value: pa.Scalar) -> Any:
    if pa.types.is_string(value.type):
        return text_not_below(value.as_py())
    return 0.0 if pa.types.is_floating(value.type) and value.as_py() == 0 else told(value)


def text_not_below(text: str) -> str | None:
    """Not less than the text, nor than any other that begins like it, unless it goes on with the greatest character."""
    if len(text) <= TEXT:
        return text
    return None if text[TEXT] == GREATEST else text[:TEXT] + GREATEST


def told(value: pa.Scalar) -> Any:
    if pa.types.is_timestamp(value.type):
        return told_time(value.value)
    found = value.as_py() if not pa.types.is_date(value.type) else told_date(value.value)
    if isinstance(found, float):
        return found if math.isfinite(found) else None
    return exact_number(found) if isinstance(found, Decimal) else found


def told_time(microseconds: int) -> str | None:
    """Cut to milliseconds, as every reader of the log expects."""
    try:
        found = EPOCH + timedelta(milliseconds=microseconds // 1000)
    except OverflowError:
        return None
    return found.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def told_date(days: int) -> str | None:
    try:
        return (EPOCH + timedelta(days=days)).date().isoformat()
    except OverflowError:
        return None


def exact_number(value: Decimal) -> float | None:
    """As a number of JSON, where that is the same number."""
    return float(value) if Decimal(repr(float(value))) == value else None
