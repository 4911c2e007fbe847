"""The hash of a table: the same for the same rows, whoever reads them and in whatever form they come."""

import hashlib
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from datasets.simulator.table_hash import TableHash, canonical, kind_of

PARIS = timezone(timedelta(hours=1))
MOMENT = datetime(2025, 3, 1, 12, 30, 0, 500, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column_type", "kind"),
    [
        ("bigint", "number"),
        ("numeric", "number"),
        ("numeric(12,2)", "number"),
        ("timestamp without time zone", "timestamp"),
        ("timestamp(3) with time zone", "timestamptz"),
        ("jsonb", "json"),
        ("text[]", "text[]"),
        ("integer[]", "number[]"),
        ("shop.tier", "text"),
        ("uuid", "text"),
        ("character varying(64)", "text"),
    ],
)
def test_a_type_has_a_kind(column_type: str, kind: str) -> None:
    assert kind_of(column_type) == kind


@pytest.mark.parametrize(
    ("kind", "forms", "text"),
    [
        ("number", [Decimal("1.50"), Decimal("1.5000000000"), "1.5", Decimal("15E-1")], "1.5"),
        ("number", [100, Decimal("1E+2"), "100.000"], "100"),
        ("number", [0, Decimal("-0.00"), "0E-9"], "0"),
        ("number", [Decimal("NaN"), "NaN"], "NaN"),
        ("timestamptz", [MOMENT, MOMENT.astimezone(PARIS), MOMENT.replace(tzinfo=None)], "2025-03-01T12:30:00.000500Z"),
        (
            "timestamptz",
            ["2025-03-01T12:30:00.000500Z", "2025-03-01T13:30:00.0005+01:00"],
            "2025-03-01T12:30:00.000500Z",
        ),
        ("timestamp", [datetime(2025, 3, 1), "2025-03-01T00:00:00"], "2025-03-01T00:00:00.000000"),  # noqa: DTZ001
        ("date", [date(2025, 3, 1), "2025-03-01"], "2025-03-01"),
        ("time", [time(7, 5)], "07:05:00.000000"),
        ("json", ['{"b": 1.50, "a": [true, null]}', '{"a":[true,null],"b":1.5}'], '{"a":[true,null],"b":1.5}'),
        ("bytes", [b"\x00\xff", bytearray(b"\x00\xff")], "00ff"),
        ("boolean", [True], "true"),
        ("double", [0.1], "0.1"),
        ("text", [UUID(int=1), "00000000-0000-0000-0000-000000000001"], "00000000-0000-0000-0000-000000000001"),
        ("text[]", [["a", None, 'b"']], '["a",null,"b\\""]'),
        ("number[]", [[1, Decimal("2.0")]], '["1","2"]'),
        ("number", [None], None),
    ],
)
def test_a_value_has_one_text(kind: str, forms: list[object], text: str | None) -> None:
    assert [canonical(form, kind) for form in forms] == [text] * len(forms)


def test_the_hash_is_the_sum_of_the_digests_of_the_rows() -> None:
    """As docs/connectors.md defines it."""
    rows = ['[["a","1"],["b",null]]', '[["a","2"],["b","ä"]]']
    total = sum(int.from_bytes(hashlib.sha256(row.encode()).digest()) for row in rows) % 2**256
    for order in (1, -1):
        hashed = TableHash({"b": "text", "a": "number"})
        for row in [{"a": 1, "b": None}, {"a": 2, "b": "ä"}][::order]:
            hashed.add(row)
        assert (hashed.rows, hashed.hexdigest()) == (2, f"{total:064x}")


def test_null_is_no_text_and_a_row_that_stands_twice_counts_twice() -> None:
    found = []
    for rows in ([None], ["null"], [""], ["x"], ["x", "x"], ["x", "x", "x"], []):
        hashed = TableHash({"a": "text"})
        for value in rows:
            hashed.add({"a": value})
        found.append(hashed.hexdigest())
    assert len(set(found)) == len(found)
