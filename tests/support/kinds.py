"""Of each kind of column the values that are easily got wrong."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
KINDS: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "tinyint": [-128, 127, None],
    "smallint": [-(2**15), 2**15 - 1, None],
    "int": [-(2**31), 2**31 - 1, None],
    "bigint": [-(2**63), 2**63 - 1, None],
    "float": [1.5, float("nan"), -0.0, float("inf"), None],
    "double": [1e300, float("nan"), -0.0, 0.0, float("-inf"), None],
    "decimal(38,18)": [Decimal("12345678901234567890.123456789012345678"), Decimal("-0.1"), None],
    "date": [date(1, 1, 1), date(1500, 2, 1), date(9999, 12, 31), None],
    "timestamp": [NOON + timedelta(microseconds=1), datetime(1883, 11, 18, 12, 3, 58, 1, UTC), None],
    "string": ["", "é", "\U0001f321" * 40, "x" * 33, "'\\\n", None],
    "binary": [b"", b"\x00\xff", None],
    "struct<a: int, b: struct<c: string>>": [(1, ("x",)), (None, (None,)), None],
    "array<string>": [["é", None, ""], [], [None], None],
    "array<struct<a: decimal(9,2), b: date>>": [[(Decimal("1.50"), date(1, 1, 1)), None, (None, None)], [], None],
    "map<string, timestamp>": [{"k": NOON + timedelta(microseconds=1), "": None}, {}, None],
    "map<string, array<double>>": [{"k": [1.5, None, float("nan")], "é": []}, {"z": None}, None],
    "struct<a: array<int>, b: map<string, boolean>, c: timestamp>": [([1], {"k": True}, NOON), (None, {}, None), None],
}
