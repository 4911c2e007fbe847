"""The planner: pure, so it is tried by example and by property."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import StateError
from common.model.offsets import (
    Available,
    Plan,
    TopicPartition,
    fair_share,
    from_json,
    plan,
    plans_around,
    starting_offsets,
    to_json,
)
from tests.support.partitions import of_t


def test_an_epoch_begins_at_the_first_record_there_is() -> None:
    available = Available(earliest=of_t({0: 5, 1: 0}), ends=of_t({0: 9, 1: 2}))
    assert plan({}, available, 100) == Plan(start=of_t({0: 5, 1: 0}), end=of_t({0: 9, 1: 2}))


def test_it_goes_on_from_the_committed_offsets() -> None:
    available = Available(earliest=of_t({0: 0, 1: 0}), ends=of_t({0: 9, 1: 2}))
    assert plan(of_t({0: 4, 1: 2}), available, 100) == Plan(start=of_t({0: 4, 1: 2}), end=of_t({0: 9, 1: 2}))


def test_06_an_added_partition_is_read_from_its_beginning() -> None:
    available = Available(earliest=of_t({0: 0, 1: 0}), ends=of_t({0: 9, 1: 7}))
    assert plan(of_t({0: 9}), available, 100).start == of_t({0: 9, 1: 0})


def test_04_a_lost_range_names_partition_wanted_earliest_and_count() -> None:
    with pytest.raises(
        StateError, match=r"partition 1 of 't': offset 3 is wanted, 8 is the earliest left, 5 records are lost"
    ):
        starting_offsets(of_t({0: 0, 1: 3}), Available(earliest=of_t({0: 0, 1: 8}), ends=of_t({0: 1, 1: 9})))


def test_04_records_that_an_added_partition_has_already_lost_are_lost_too() -> None:
    with pytest.raises(StateError, match="partition 1 of 't': offset 0 is wanted, 8 is the earliest left"):
        starting_offsets(of_t({0: 0}), Available(earliest=of_t({0: 0, 1: 8}), ends=of_t({0: 1, 1: 9})))


def test_a_log_that_ends_before_the_position_is_refused() -> None:
    with pytest.raises(StateError, match="partition 0 of 't': offset 10 is wanted, but the log ends at 4"):
        starting_offsets(of_t({0: 10}), Available(earliest=of_t({0: 0}), ends=of_t({0: 4})))


def test_a_partition_that_is_gone_is_refused() -> None:
    with pytest.raises(StateError, match="topic 't' no longer has partition 1"):
        starting_offsets(of_t({0: 1, 1: 1}), Available(earliest=of_t({0: 0}), ends=of_t({0: 4})))


def test_nothing_new_is_a_plan_of_no_records() -> None:
    assert plan(of_t({0: 4}), Available(earliest=of_t({0: 0}), ends=of_t({0: 4})), 100).records == 0


def test_the_limit_is_shared_by_lag() -> None:
    assert fair_share(of_t({0: 100, 1: 300, 2: 0}), 40) == of_t({0: 10, 1: 30, 2: 0})


@given(
    lag=st.dictionaries(st.integers(0, 20), st.integers(0, 10_000), min_size=1, max_size=8),
    limit=st.integers(1, 20_000),
)
def test_a_share_uses_the_whole_limit_and_never_more_than_the_lag(lag: dict[int, int], limit: int) -> None:
    lags = of_t(lag)
    share = fair_share(lags, limit)
    assert share.keys() == lags.keys()
    assert all(0 <= share[each] <= lags[each] for each in lags)
    assert sum(share.values()) == min(limit, sum(lag.values()))


@given(
    steps=st.lists(st.dictionaries(st.integers(0, 3), st.integers(0, 50)), min_size=1, max_size=10),
    limit=st.integers(1, 60),
)
def test_successive_plans_cover_every_offset_once(steps: list[dict[int, int]], limit: int) -> None:
    ends = of_t(dict.fromkeys(range(4), 0))
    committed: dict[TopicPartition, int] = {}
    read: list[tuple[TopicPartition, int]] = []
    for produced in steps:
        ends = {each: end + produced.get(each.partition, 0) for each, end in ends.items()}
        while (planned := plan(committed, Available(dict.fromkeys(ends, 0), ends), limit)).records:
            assert planned.records <= limit
            read += [(p, offset) for p in planned.end for offset in range(planned.start[p], planned.end[p])]
            committed = dict(planned.end)
    assert sorted(read) == [(partition, offset) for partition in ends for offset in range(ends[partition])]


@given(
    ends=st.lists(st.integers(5, 30), min_size=1, max_size=3),
    left_out=st.sets(st.tuples(st.integers(0, 2), st.integers(5, 29))),
)
def test_plans_around_some_offsets_cover_all_others_once(ends: list[int], left_out: set[tuple[int, int]]) -> None:
    planned = Plan(of_t(dict.fromkeys(range(len(ends)), 5)), of_t(dict(enumerate(ends))))
    within = {(each, offset) for each, offset in left_out if each < len(ends) and offset < ends[each]}
    inside = {(TopicPartition("t", each), offset) for each, offset in within}
    plans = plans_around(planned, inside)
    read = [(p, offset) for each in plans for p in each.end for offset in range(each.start[p], each.end[p])]
    whole = {(each, offset) for each, end in planned.end.items() for offset in range(5, end)}
    assert sorted(read) == sorted(whole - inside)
    assert all(each.records and set(each.end) == set(planned.end) for each in plans)
    assert len(plans) <= len(inside) + 1


def test_json_is_the_form_of_sparks_options() -> None:
    assert to_json(of_t({1: 5, 0: 3})) == '{"t": {"0": 3, "1": 5}}'
    assert from_json('{"t":{"0":3,"1":5}}') == of_t({0: 3, 1: 5})
