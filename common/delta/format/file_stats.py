"""What Delta's log says of a data file: its rows, and of its first columns the least, the greatest and the nulls.

Others leave the file unread by it. So it is told as Delta tells it; and where a value has no form in the log, nothing
but the number of rows: not every reader reads a file of which some columns are told and others are not.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Path = tuple[str, ...]
# All that Delta keeps of a text.
TEXT = 32
GREATEST = "\U0010ffff"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NOT_ORDERED = (pa.bool_(), pa.binary())


def statistics_of(rows: pa.Table, indexed: tuple[Path, ...], count: int) -> str:
    """As the log keeps it, of a file in which `count` rows were found."""
    told = {path: column_at(rows, path) for path in indexed}
    try:
        ranges = {path: range_of(column) for path, column in told.items() if is_ordered(column)}
    except OverflowError:  # A time that Python does not know.
        return json.dumps({"numRecords": count})
    return in_json(
        {
            "numRecords": str(count),
            "minValues": in_json(by_name({path: least for path, (least, _) in ranges.items()})),
            "maxValues": in_json(by_name({path: greatest for path, (_, greatest) in ranges.items()})),
            "nullCount": in_json(by_name({path: str(column.null_count) for path, column in told.items()})),
        }
    )


def column_at(rows: pa.Table, path: Path) -> pa.ChunkedArray:
    """A column, or a field of a struct: null where the struct is."""
    found = rows[path[0]]
    return pc.struct_field(found, list(path[1:])) if path[1:] else found


def by_name(written: Mapping[Path, str]) -> dict[str, str]:
    """The fields of each struct as an object under its name, in their order."""
    inside: dict[str, dict[Path, str]] = {}
    for path, value in written.items():
        inside.setdefault(path[0], {})[path[1:]] = value
    return {name: each[()] if () in each else in_json(by_name(each)) for name, each in inside.items()}


def in_json(written: Mapping[str, str]) -> str:
    """An object of values that are written already: a decimal has more digits than Python's JSON would write."""
    return "{" + ",".join(f"{json.dumps(name)}:{value}" for name, value in written.items()) + "}"


def is_ordered(column: pa.ChunkedArray) -> bool:
    if column.type in NOT_ORDERED or pa.types.is_nested(column.type):
        return False
    return bool(column.null_count < len(column))


def range_of(column: pa.ChunkedArray) -> tuple[str, str]:
    """The least and the greatest value, as the log writes them."""
    if pa.types.is_floating(column.type):
        least, greatest = range_of_floats(column.drop_null().to_numpy())
        return json.dumps(least), json.dumps(greatest)
    least, greatest = pc.min_max(column).values()
    if pa.types.is_string(column.type):
        return json.dumps(least.as_py()[:TEXT]), json.dumps(not_less(greatest.as_py()))
    return written(least), written(greatest)


def range_of_floats(values: Any) -> tuple[float | str, float | str]:
    """What is not a number is greater than all that are. Of two zeros the negative one is the less, if it is there."""
    has_others = bool(np.isnan(values.max()))
    numbers = values[~np.isnan(values)] if has_others else values
    if not len(numbers):
        return "NaN", "NaN"
    least, greatest = float(numbers.min()), float(numbers.max())
    if least == 0:
        least = -0.0 if is_negative_zero(numbers).any() else 0.0
    if greatest == 0:
        greatest = -0.0 if is_negative_zero(numbers[numbers == 0]).all() else 0.0
    return spoken(least), "NaN" if has_others else spoken(greatest)


def is_negative_zero(numbers: Any) -> Any:
    return (numbers == 0) & np.signbit(numbers)


def spoken(number: float) -> float | str:
    if np.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def not_less(text: str) -> str:
    """Than the text, and as short as may be: its beginning, and a character that is greater than what follows."""
    after = (place for place in range(TEXT, len(text)) if text[place] != GREATEST)
    place = next(after, None)
    return text if place is None else text[:place] + GREATEST


def written(value: pa.Scalar) -> str:
    if pa.types.is_timestamp(value.type):
        # Cut to milliseconds, as every reader of the log expects.
        found = EPOCH + timedelta(milliseconds=value.value // 1000)
        return json.dumps(found.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
    if pa.types.is_date(value.type):
        return json.dumps((EPOCH + timedelta(days=value.value)).date().isoformat())
    return format(value.as_py(), "f") if pa.types.is_decimal(value.type) else str(value.as_py())
