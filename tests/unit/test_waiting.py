"""Waiting with a bound, by a clock of our own."""

import pytest

from common import waiting
from common.waiting import await_true, tries


class Clock:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waiting, "time", clock)
    return clock


def test_the_first_try_comes_at_once_and_none_after_the_bound(clock: Clock) -> None:
    assert list(tries(1, pause=0.25)) == [0, 0.25, 0.5, 0.75, 1]
    assert list(tries(1.1, pause=0.5)) == [0, 0.5, 1]


def test_without_time_there_is_one_try(clock: Clock) -> None:
    assert list(tries(0)) == [0]
    assert clock.slept == []


def test_pauses_grow_up_to_the_longest(clock: Clock) -> None:
    list(tries(20, pause=1, longest_pause=5))
    assert clock.slept == [1, 2, 4, 5, 5]


def test_what_comes_is_not_waited_for_any_longer(clock: Clock) -> None:
    answers = iter([False, False, True])
    assert await_true(lambda: next(answers), seconds=60, pause=1)
    assert clock.slept == [1, 1]
    assert not await_true(lambda: False, seconds=3, pause=1)
