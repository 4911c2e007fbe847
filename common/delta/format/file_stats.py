"""Compute the statistics of a data file for Delta's log: rows, and least value, greatest value and nulls by column.

Readers skip the file by them, so they have the same form as Delta's own. Where a value has no form in the log, only the
number of rows is written: not every reader accepts a file that has statistics of some columns and not of others.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Path = tuple[str, ...]
# How many characters of a text Delta keeps.
TEXT = 32
GREATEST = "\U0010ffff"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOT_ORDERED = (pa.bool_(), pa.binary())


def statistics_of(rows: pa.Table, indexed: tuple[Path, ...], count: int) -> str:
    """Return the `stats` entry of a file in which `count` rows were found."""
    columns = {path: column_at(rows, path) for path in indexed}
    try:
        ranges = {path: range_of(column) for path, column in columns.items() if is_ordered(column)}
    except OverflowError:  # A time that Python cannot hold.
        return json.dumps({"numRecords": count})
    return in_json(
        {
            "numRecords": str(count),
            "minValues": in_json(by_name({path: least for path, (least, _) in ranges.items()})),
            "maxValues": in_json(by_name({path: greatest for path, (_, greatest) in ranges.items()})),
            "nullCount": in_json(by_name({path: str(column.null_count) for path, column in columns.items()})),
        }
    )


def column_at(rows: pa.Table, path: Path) -> pa.ChunkedArray:
    """Return a column, or a field of a struct, which is null where the struct is."""
    column = rows[path[0]]
    return pc.struct_field(column, list(path[1:])) if path[1:] else column


def by_name(values: Mapping[Path, str]) -> dict[str, str]:
    """Nest the fields of each struct as an object under its name, in their order."""
    inside: dict[str, dict[Path, str]] = {}
    for path, value in values.items():
        inside.setdefault(path[0], {})[path[1:]] = value
    return {name: each[()] if () in each else in_json(by_name(each)) for name, each in inside.items()}


def in_json(values: Mapping[str, str]) -> str:
    """Write an object of values that are JSON already, because Python's JSON would write fewer digits of a decimal."""
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in values.items()) + "}"


def is_ordered(column: pa.ChunkedArray) -> bool:
    if column.type in NOT_ORDERED or pa.types.is_nested(column.type):
        return False
    return bool(column.null_count < len(column))


def range_of(column: pa.ChunkedArray) -> tuple[str, str]:
    """Return the least and the greatest value, as the log writes them."""
    if pa.types.is_floating(column.type):
        least, greatest = range_of_floats(column.drop_null().to_numpy())
        return json.dumps(least), json.dumps(greatest)
    least, greatest = pc.min_max(column).values()
    if pa.types.is_string(column.type):
        return json.dumps(least.as_py()[:TEXT]), json.dumps(truncated_max(greatest.as_py()))
    return json_literal(least), json_literal(greatest)


def range_of_floats(values: Any) -> tuple[float | str, float | str]:
    """Return the range of floats. NaN is greater than all numbers, and -0.0 is less than 0.0."""
    has_others = bool(np.isnan(values.max()))
    numbers = values[~np.isnan(values)] if has_others else values
    if not len(numbers):
        return "NaN", "NaN"
    least, greatest = float(numbers.min()), float(numbers.max())
    if least == 0:
        least = -0.0 if is_negative_zero(numbers).any() else 0.0
    if greatest == 0:
        greatest = -0.0 if is_negative_zero(numbers[numbers == 0]).all() else 0.0
    return json_float(least), "NaN" if has_others else json_float(greatest)


def is_negative_zero(numbers: Any) -> Any:
    return (numbers == 0) & np.signbit(numbers)


def json_float(number: float) -> float | str:
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def truncated_max(text: str) -> str:
    """Return an upper bound of a text: the text itself up to 32 characters, else a prefix and U+10FFFF."""
    after = (place for place in range(TEXT, len(text)) if text[place] != GREATEST)
    place = next(after, None)
    return text if place is None else text[:place] + GREATEST


def json_literal(value: pa.Scalar) -> str:
    if pa.types.is_timestamp(value.type):
        # Truncated to milliseconds, as every reader of the log expects.
        time = EPOCH + timedelta(milliseconds=value.value // 1000)
        return json.dumps(time.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
    if pa.types.is_date(value.type):
        return json.dumps((EPOCH + timedelta(days=value.value)).date().isoformat())
    return format(value.as_py(), "f") if pa.types.is_decimal(value.type) else str(value.as_py())
