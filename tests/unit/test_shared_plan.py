"""One read for several targets: each offset reaches each target once, and whoever is behind comes first."""

from hypothesis import given
from hypothesis import strategies as st

from common.model.offsets import Plan, TopicPartition
from common.model.shared_plan import SharedPlan, plan_shared
from tests.support.partitions import of_t, of_topic

ENDS = of_t({0: 10, 1: 10})


def test_targets_that_are_level_share_a_read() -> None:
    start = of_t({0: 4, 1: 2})
    assert plan_shared([start, start], ENDS, 100) == SharedPlan(Plan(start, ENDS), range(2))


def test_a_target_that_is_behind_is_brought_to_the_furthest_first() -> None:
    ahead, behind = of_t({0: 8, 1: 6}), of_t({0: 3, 1: 6})
    assert plan_shared([ahead, behind, ahead], ENDS, 100) == SharedPlan(Plan(behind, ahead), [1])


def test_targets_that_are_equally_far_behind_come_together() -> None:
    ahead, behind = of_t({0: 8}), of_t({0: 3})
    assert plan_shared([behind, ahead, behind], of_t({0: 10}), 2) == SharedPlan(Plan(behind, of_t({0: 5})), [0, 2])


def test_targets_of_different_topics_do_not_wait_for_each_other() -> None:
    one, other = of_topic("one", {0: 3}), of_topic("other", {0: 7})
    ends = {**of_topic("one", {0: 5}), **of_topic("other", {0: 9})}
    assert plan_shared([one, other], ends, 100) == SharedPlan(Plan({**one, **other}, ends), range(2))


@given(
    starts=st.lists(st.lists(st.integers(0, 30), min_size=2, max_size=2), min_size=1, max_size=4),
    limit=st.integers(1, 40),
)
def test_each_target_reads_every_offset_once_and_all_end_level(starts: list[list[int]], limit: int) -> None:
    standing = [of_t(dict(enumerate(start))) for start in starts]
    read: list[list[tuple[TopicPartition, int]]] = [[] for _ in starts]
    ends = of_t({0: 30, 1: 30})
    while (shared := plan_shared(standing, ends, limit)).planned.records:
        planned = shared.planned
        assert planned.records <= limit
        for number in shared.targets:
            assert standing[number] == planned.start
            read[number] += [(p, offset) for p in planned.end for offset in range(planned.start[p], planned.end[p])]
            standing[number] = dict(planned.end)
    assert all(each == ends for each in standing)
    for start, offsets in zip(starts, read, strict=True):
        assert sorted(offsets) == [(p, offset) for p in sorted(ends) for offset in range(start[p.partition], 30)]
