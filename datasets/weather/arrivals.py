"""The stream as it would come in: hour by hour, a few readings late, corrections in between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from datasets.draws import Integers, integers, uniform
from datasets.weather.climate import temperatures
from datasets.weather.corrections import Corrections
from datasets.weather.extent import STREAM_HOURS
from datasets.weather.places import Place

LATE_SHARE = 0.03
LONGEST_DELAY_HOURS = 6
ROWS_AT_ONCE = 500_000


@dataclass(frozen=True)
class Readings:
    """Columns of equal length, in the order of their arrival; `place` is an index, temperatures are in tenths."""

    place: Integers
    hour: Integers
    tenths: Integers


def arrivals(seed: int, places: Sequence[Place], corrections: Corrections) -> Iterator[Readings]:
    """Yield all readings of the stream in windows of arrival time, so that memory does not grow with the stream."""
    window = max(1, ROWS_AT_ONCE // len(places))
    # The last window stays open for what is late at the stream's end.
    edges = [*range(0, STREAM_HOURS, window), STREAM_HOURS + LONGEST_DELAY_HOURS + 1]
    for start, end in pairwise(edges):
        yield _in_order(_new_readings(seed, places, start, end), _corrected_readings(corrections, start, end))


def _new_readings(seed: int, places: Sequence[Place], start: int, end: int) -> tuple[Integers, ...]:
    hours = np.arange(max(0, start - LONGEST_DELAY_HOURS), min(end, STREAM_HOURS))
    ids = np.array([[place.location_id] for place in places])
    late = uniform(seed, "late", ids, hours) < LATE_SHARE
    delay = np.where(late, 1 + integers(seed, "delay", LONGEST_DELAY_HOURS, ids, hours), 0)
    arrival = hours + delay
    here = (arrival >= start) & (arrival < end)
    place, column = np.nonzero(here)
    return arrival[here], place, hours[column], temperatures(seed, places, hours)[here]


def _corrected_readings(corrections: Corrections, start: int, end: int) -> tuple[Integers, ...]:
    here = (corrections.arrival >= start) & (corrections.arrival < end)
    return corrections.arrival[here], corrections.place[here], corrections.hour[here], corrections.after[here]


def _in_order(*sources: tuple[Integers, ...]) -> Readings:
    arrival, place, hour, tenths = (np.concatenate(columns) for columns in zip(*sources, strict=True))
    order = np.lexsort((hour, place, arrival))
    return Readings(place[order], hour[order], tenths[order])
