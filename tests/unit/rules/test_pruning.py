"""Ranges of a batch's values: they hold every value, and leave out the widest gaps."""

from datetime import date

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.rules.pruning import MAX_RANGES, PruneBound, Range, ValueRanges, prune_bounds, value_ranges, whole_range


def column(values: list[object], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values, kind)])


@given(st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=200))
def test_every_value_lies_in_one_range_and_ranges_are_apart(values: list[int | None]) -> None:
    found = value_ranges(column(values, pa.int64()), "bigint")
    assert found.has_null == (None in values)
    assert len(found.ranges) <= MAX_RANGES
    for value in values:
        assert value is None or sum(each.first <= value <= each.last for each in found.ranges) == 1
    assert list(found.ranges) == sorted(found.ranges, key=lambda each: each.first)


def test_few_values_are_divided_wherever_anything_lies_between_them() -> None:
    found = value_ranges(column([1, 2, 3, 7, 9], pa.int64()), "bigint")
    assert found.ranges == [Range(1, 3), Range(7, 7), Range(9, 9)]


def test_of_many_values_the_widest_gaps_are_left_out() -> None:
    values = [10 * number for number in range(MAX_RANGES)] + [100_000]
    found = value_ranges(column(values, pa.int64()), "bigint")
    assert len(found.ranges) == MAX_RANGES
    assert found.ranges[-1] == Range(100_000, 100_000)


@pytest.mark.parametrize(
    ("values", "kind", "name", "ranges"),
    [
        ([date(1582, 10, 15), date(1970, 1, 2)], pa.date32(), "date", [Range(-141427, -141427), Range(1, 1)]),
        (["b", "a", "é"], pa.string(), "string", [Range("a", "a"), Range("b", "b"), Range("é", "é")]),
        ([], pa.int64(), "bigint", []),
    ],
)
def test_each_kind_has_its_own_form(values: list[object], kind: pa.DataType, name: str, ranges: list[Range]) -> None:
    assert value_ranges(column(values, kind), name).ranges == ranges


def test_a_whole_range_is_one() -> None:
    assert whole_range(column([5, None, 2], pa.int64())) == ValueRanges([Range(2, 5)], has_null=True)
    assert whole_range(column([None], pa.int64())) == ValueRanges([], has_null=True)


def test_a_key_is_never_null_and_another_column_may_be() -> None:
    found = {"id": ValueRanges([Range(1, 2)], has_null=False), "day": ValueRanges([Range(3, 4)], has_null=False)}
    types = (("id", "bigint"), ("day", "date"))
    assert prune_bounds(found, types, ["id"], deletes=False) == [
        PruneBound("id", "bigint", [Range(1, 2)], or_null=False),
        PruneBound("day", "date", [Range(3, 4)], or_null=True),
    ]


def test_a_tombstone_that_does_not_say_a_value_bounds_nothing_by_it() -> None:
    found = {"day": ValueRanges([Range(3, 4)], has_null=True)}
    assert prune_bounds(found, (("day", "date"),), ["id"], deletes=True) == []
    assert len(prune_bounds(found, (("day", "date"),), ["id"], deletes=False)) == 1
