"""Values compare as in Spark: both zeros are one number, and NaN is the greatest."""

import math

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.rules.compare import ROWS, aggregate, arrow_type, sortable

FLOATS = [-math.inf, -1.5, -5e-324, 0.0, 5e-324, 1.5, math.inf, math.nan]


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_sortable_floats_are_in_sparks_order(kind: pa.DataType) -> None:
    exact = [value for value in FLOATS if kind == pa.float64() or abs(value) != 5e-324]
    numbers = sortable(pa.chunked_array([pa.array(exact, kind)])).to_pylist()
    assert numbers == sorted(numbers)
    assert len(set(numbers)) == len(numbers)


def test_both_zeros_and_all_nans_are_one() -> None:
    column = pa.chunked_array([pa.array([0.0, -0.0, math.nan, -math.nan, None], pa.float64())])
    zero, minus_zero, nan, minus_nan, nothing = sortable(column).to_pylist()
    assert (zero, nan, nothing) == (minus_zero, minus_nan, None)


@given(st.lists(st.floats(), min_size=2, max_size=2))
def test_sortable_keeps_the_order_of_numbers(pair: list[float]) -> None:
    one, other = sortable(pa.chunked_array([pa.array(pair, pa.float64())])).to_pylist()
    if not any(map(math.isnan, pair)):
        assert (one < other, one == other) == (pair[0] < pair[1], pair[0] == pair[1])


def test_other_types_are_as_they_are() -> None:
    column = pa.chunked_array([pa.array(["b", None, "a"])])
    assert sortable(column) is column


@pytest.mark.parametrize(
    ("name", "kind"),
    [("decimal(10,2)", pa.decimal128(10, 2)), ("bigint", pa.int64()), ("array<int>", None), ("variant", None)],
)
def test_plain_types_have_a_type_in_arrow(name: str, kind: pa.DataType | None) -> None:
    assert arrow_type(name) == kind


def test_groups_have_one_row_for_each_combination() -> None:
    rows = {"a": pa.array([1, 1, None, None]), "b": pa.array([1, 2, 3, 4])}
    groups = aggregate(rows, ["a"], {"count": ROWS, "most": ("b", "max")})
    assert sorted(groups.to_pylist(), key=str) == [{"a": 1, "count": 2, "most": 2}, {"a": None, "count": 2, "most": 4}]
    assert pc.sum(groups["count"]).as_py() == 4
