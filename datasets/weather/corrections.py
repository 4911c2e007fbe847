"""Corrections of hours that are in the base already, as a weather service sends them after it has checked a reading."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from datasets.draws import Integers, integers, uniform
from datasets.weather.climate import temperatures
from datasets.weather.extent import STREAM_HOURS, Extent
from datasets.weather.places import Place

RECENT_HOURS = 4 * 7 * 24
RECENT_PER_PLACE = 160
SCATTERED_PER_PLACE = 40
PER_PLACE = RECENT_PER_PLACE + SCATTERED_PER_PLACE
# A reading of the last weeks is checked four weeks later, give or take.
CHECK_JITTER_HOURS = 72
# In tenths of a degree: two is the least that is at least 0.1 after any rounding of doubles.
SMALLEST_CHANGE, LARGEST_CHANGE = 2, 30
PLACES_AT_ONCE = 1000


@dataclass(frozen=True)
class Corrections:
    """Columns of equal length, by place and hour; temperatures in tenths, arrival in hours of the stream."""

    place: Integers
    hour: Integers
    arrival: Integers
    before: Integers
    after: Integers

    def __len__(self) -> int:
        return len(self.place)


def corrections(seed: int, places: Sequence[Place], extent: Extent) -> Corrections:
    """Make 200 corrections for each place, of 200 different hours: most in the last four weeks, some from all years."""
    parts = [
        _of_some(seed, places[first : first + PLACES_AT_ONCE], first, extent)
        for first in range(0, len(places), PLACES_AT_ONCE)
    ]
    return Corrections(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _of_some(seed: int, places: Sequence[Place], first: int, extent: Extent) -> tuple[Integers, ...]:
    ids = np.array([[place.location_id] for place in places])
    hours = np.sort(np.hstack([_scattered_hours(seed, ids, extent.base_hours), _recent_hours(seed, ids)]), axis=1)
    before = temperatures(seed, places, hours)
    positions = np.broadcast_to(first + np.arange(len(places))[:, np.newaxis], hours.shape)
    columns = (positions, hours, _arrivals(seed, ids, hours), before, before + _changes(seed, ids, hours))
    return tuple(column.ravel() for column in columns)


def _recent_hours(seed: int, ids: Integers) -> Integers:
    lots = uniform(seed, "recent corrections", ids, np.arange(RECENT_HOURS))
    return np.argsort(lots, axis=1)[:, :RECENT_PER_PLACE] - RECENT_HOURS


def _scattered_hours(seed: int, ids: Integers, base_hours: int) -> Integers:
    """Draw one hour from each of equal stretches before the last weeks: from all years, and none twice."""
    numbers = np.arange(SCATTERED_PER_PLACE)
    edges = -base_hours + (base_hours - RECENT_HOURS) * np.arange(SCATTERED_PER_PLACE + 1) // SCATTERED_PER_PLACE
    return edges[:-1] + integers(seed, "scattered corrections", np.diff(edges), ids, numbers)


def _arrivals(seed: int, ids: Integers, hours: Integers) -> Integers:
    checked = hours + RECENT_HOURS + integers(seed, "check delay", CHECK_JITTER_HOURS, ids, hours)
    found_late = integers(seed, "late finding", STREAM_HOURS, ids, hours)
    return np.where(hours >= -RECENT_HOURS, checked, found_late)


def _changes(seed: int, ids: Integers, hours: Integers) -> Integers:
    size = SMALLEST_CHANGE + integers(seed, "change", LARGEST_CHANGE - SMALLEST_CHANGE + 1, ids, hours)
    return np.where(uniform(seed, "change sign", ids, hours) < 0.5, -size, size)
