"""Medians, spreads and ratios, with what chance may have done to them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 10_000
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """The middle, and the quarters to both sides of it."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Ratio:
    """With the interval in which 95 of 100 repetitions would lie."""

    value: float
    low: float
    high: float


def spread(values: Sequence[float]) -> Spread:
    low, median, high = np.quantile(np.asarray(values, dtype=np.float64), [0.25, 0.5, 0.75])
    return Spread(float(median), float(low), float(high))


def ratio(above: Sequence[float], below: Sequence[float], *, seed: int = 1) -> Ratio:
    """Of measurements that have nothing in common but the run: each side is drawn anew by itself."""
    chance = np.random.default_rng(seed)
    return _ratio(above, below, _draws(chance, len(above)), _draws(chance, len(below)))


def paired_ratio(above: Sequence[float], below: Sequence[float], *, seed: int = 1) -> Ratio:
    """Of measurements of the same rounds: what slowed a round slowed both, so rounds are drawn, not measurements."""
    if len(above) != len(below):
        raise ValueError(f"{len(above)} rounds cannot be paired with {len(below)}")
    draws = _draws(np.random.default_rng(seed), len(above))
    return _ratio(above, below, draws, draws)


def ratio_in_rounds(above: Sequence[float], below: Sequence[float], *, seed: int = 1) -> Ratio:
    """The median of each round's own ratio: what slows some rounds more than others is in none of them."""
    if len(above) != len(below):
        raise ValueError(f"{len(above)} rounds cannot be paired with {len(below)}")
    draws = _draws(np.random.default_rng(seed), len(above))
    ratios = np.asarray(above, dtype=np.float64) / np.asarray(below, dtype=np.float64)
    low, high = np.quantile(np.median(ratios[draws], axis=1), [0.025, 0.975])
    return Ratio(float(np.median(ratios)), float(low), float(high))


def share(above: float, below: float) -> float:
    """Of two counts, either of which may be 0: nothing of nothing is as much as before."""
    if below == 0:
        return 1.0 if above == 0 else float("inf")
    return above / below


def _draws(chance: np.random.Generator, count: int) -> npt.NDArray[np.int64]:
    if count == 0:
        raise ValueError("nothing was measured")
    return chance.integers(0, count, size=(RESAMPLES, count))


def _ratio(
    above: Sequence[float], below: Sequence[float], of_above: npt.NDArray[np.int64], of_below: npt.NDArray[np.int64]
) -> Ratio:
    upper, lower = np.asarray(above, dtype=np.float64), np.asarray(below, dtype=np.float64)
    resampled: Numbers = np.median(upper[of_above], axis=1) / np.median(lower[of_below], axis=1)
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Ratio(float(np.median(upper) / np.median(lower)), float(low), float(high))
