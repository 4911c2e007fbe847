"""Planned offsets without a row: counted, and found where they are."""

from hypothesis import given
from hypothesis import strategies as st

from common.model.offsets import Plan, TopicPartition
from common.rules.accounting import tally
from common.rules.gaps import find_gaps, missing
from tests.support.arrow_records import batch, row
from tests.support.partitions import of_t


def test_what_a_partition_lacks_is_counted_and_one_that_lacks_nothing_is_left_out() -> None:
    planned = Plan(of_t({0: 2, 1: 0, 2: 5}), of_t({0: 6, 1: 1, 2: 7}))
    rows = batch([row(2), row(5), row(0, partition=1)])
    assert missing(tally(rows), planned) == of_t({0: 2, 2: 2})


@given(read=st.sets(st.tuples(st.sampled_from("tu"), st.integers(0, 1), st.integers(5, 20))))
def test_gaps_are_exactly_the_offsets_that_no_row_has(read: set[tuple[str, int, int]]) -> None:
    rows = batch([row(offset, topic=topic, partition=partition) for topic, partition, offset in read])
    ranges = {TopicPartition(topic, partition): (5, 21) for topic in "tu" for partition in (0, 1)}
    found = find_gaps(rows, ranges)
    assert found.keys() == ranges.keys()
    for (topic, partition), gaps in found.items():
        inside = [offset for first, after in gaps for offset in range(first, after)]
        assert inside == [offset for offset in range(5, 21) if (topic, partition, offset) not in read]
        assert all(first < after for first, after in gaps)
