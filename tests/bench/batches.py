"""Seeded batches, as the rows that they bring and the records that Kafka gets."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from common.produce.records import Location, Reading, Record, to_record
from datasets.weather.extent import Extent, clock_times, extent
from datasets.weather.places import CITIES, places
from tests.bench.cells import Base, BatchName

SEED = 1
LATE_SHARE = 0.01


class Row(NamedTuple):
    """A row of the table, in the order of its columns."""

    latitude: float
    longitude: float
    time: str
    temperature_2m: float
    month: str

    @property
    def key(self) -> tuple[float, float, str]:
        return self.latitude, self.longitude, self.time


class Spot(NamedTuple):
    """An hour, counted from the end of the base, at a place, counted from the first."""

    hour: int
    place: int


def spot_of_cities(number: int) -> Spot:
    """Hour after hour, city after city, from the first new hour on: a batch does not grow with the table."""
    return Spot(*divmod(number, len(CITIES)))


@dataclass(frozen=True)
class Mixture:
    """What a batch is made of: new hours, corrections of those just before, and of any hour at any place."""

    new: int
    corrected: int
    scattered: int

    @classmethod
    def named(cls, name: BatchName) -> "Mixture":
        kind, rows = name.split("-")[0], int(name.split("-")[1])
        if kind == "new":
            return cls(rows, 0, 0)
        if kind == "random":
            return cls(0, 0, rows)
        late = round(rows * LATE_SHARE + 0.5) if kind == "late" else 0
        new = (rows - late) // 2
        return cls(new, rows - late - new, late)

    def spots(self, number: int, size: Extent, chance: random.Random) -> list[Spot]:
        """Of the batch of this number, no spot twice, in an order of chance."""
        first = number * self.new
        newest = {spot_of_cities(each) for each in range(first - self.corrected, first + self.new)}
        found = set(newest)
        while len(found) < len(newest) + self.scattered:
            found.add(Spot(-1 - chance.randrange(size.base_hours), chance.randrange(size.place_count)))
        spots = sorted(found)
        chance.shuffle(spots)
        return spots


class Batches:
    """The batches of one cell; the same number is always the same batch."""

    def __init__(self, base: Base, name: BatchName, seed: int = SEED) -> None:
        self._size = extent(base.scale, base.grow)
        self._places = places(self._size.place_count, SEED)
        self._mixture = Mixture.named(name)
        self._seed = f"{seed}/{name}"

    def batch(self, number: int) -> list[Row]:
        chance = random.Random(f"{self._seed}/{number}")
        return self.rows(self._mixture.spots(number, self._size, chance), chance)

    def rows(self, spots: Sequence[Spot], chance: random.Random) -> list[Row]:
        """At each spot a temperature that no other batch has brought, as far as chance goes."""
        hours = np.array([spot.hour for spot in spots], dtype=np.int64)
        return [
            Row(where.latitude, where.longitude, time, chance.randrange(-400_000, 400_000) / 10_000, time[:7])
            for where, time in zip(
                (self._places[spot.place] for spot in spots), clock_times(hours).tolist(), strict=True
            )
        ]


def records(rows: Sequence[Row]) -> list[Record]:
    """Keys and values as the weather producer sends them."""
    return [
        to_record(
            Reading(location_id=0, time=row.time, temperature_2m=row.temperature_2m),
            Location(location_id=0, latitude=row.latitude, longitude=row.longitude),
        )
        for row in rows
    ]
