"""What the benchmark says of its measurements."""

import random

import pytest

from tests.bench.statistics import Ratio, Spread, paired_ratio, ratio, ratio_in_rounds, share, spread


def test_a_spread_is_the_median_and_the_quarters() -> None:
    assert spread([5.0, 1.0, 2.0, 4.0, 3.0]) == Spread(median=3.0, low=2.0, high=4.0)
    assert spread([7.0]) == Spread(7.0, 7.0, 7.0)


def test_the_ratio_is_that_of_the_medians_and_lies_in_its_interval() -> None:
    found = ratio([2.0, 2.2, 1.8, 9.0, 2.1], [1.0, 1.1, 0.9, 1.0, 1.0])
    assert found.value == pytest.approx(2.1)
    assert found.low <= found.value <= found.high


def test_the_same_seed_gives_the_same_interval_and_no_spread_gives_none() -> None:
    chance = random.Random(3)
    above, below = ([chance.uniform(1, 2) for _ in range(15)] for _ in range(2))
    assert ratio(above, below, seed=5) == ratio(above, below, seed=5)
    assert ratio(above, below, seed=5) != ratio(above, below, seed=6)
    flat = ratio([3.0] * 15, [2.0] * 15)
    assert (flat.low, flat.value, flat.high) == (1.5, 1.5, 1.5)


def test_the_interval_holds_the_true_ratio_about_as_often_as_it_says() -> None:
    """Of 200 experiments with a known ratio some 190 must have it in their interval; chance allows a few less."""
    chance = random.Random(1)
    held = 0
    for experiment in range(200):
        above = [chance.gauss(3.0, 0.4) for _ in range(15)]
        below = [chance.gauss(2.0, 0.3) for _ in range(15)]
        found = ratio(above, below, seed=experiment)
        held += found.low <= 1.5 <= found.high
    assert 178 <= held <= 200


def test_rounds_that_slow_both_sides_alike_do_not_widen_a_paired_interval() -> None:
    slowness = [1.0, 1.1, 3.0, 1.2, 0.9, 2.5, 1.0, 1.4, 5.0, 1.1]
    above, below = [2.0 * each for each in slowness], slowness
    paired, loose = paired_ratio(above, below), ratio(above, below)
    assert (paired.low, paired.high) == (2.0, 2.0)
    assert loose.high - loose.low > 0.5


def test_a_machine_that_slows_down_half_way_is_not_in_the_ratio_of_rounds() -> None:
    above = [1.2, 1.2, 1.2, 1.2, 3.6, 3.6, 3.6]
    below = [1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0]
    assert ratio_in_rounds(above, below) == Ratio(*[pytest.approx(1.2)] * 3)
    noisy = ratio_in_rounds([2.0, 3.0, 2.2, 1.8, 2.1], [1.0, 1.0, 1.1, 1.0, 1.0])
    assert noisy.value == pytest.approx(2.0)
    assert noisy.low <= noisy.value <= noisy.high


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(ValueError, match="3 rounds cannot be paired with 2"):
        paired_ratio([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="3 rounds cannot be paired with 2"):
        ratio_in_rounds([1.0, 2.0, 3.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="nothing was measured"):
        ratio([], [1.0])


def test_nothing_of_nothing_is_as_much_as_before() -> None:
    assert share(0, 0) == 1.0
    assert share(3, 0) == float("inf")
    assert share(3, 2) == 1.5
