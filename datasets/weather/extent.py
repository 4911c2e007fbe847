"""The size of a dataset: the years and the number of places that a scale means, and the greatest scale."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from common.errors import UsageError
from datasets.draws import Integers
from datasets.weather.places import CITIES, GRID_CELLS

Grow = Literal["years", "locations"]

STREAM_YEAR = 2023
STREAM_START = np.datetime64("2023-01-01T00", "h")
STREAM_HOURS = 181 * 24
BASE_YEARS = 4
FIRST_CALENDAR_YEAR = 1
LARGEST_BY_YEARS = (STREAM_YEAR - FIRST_CALENDAR_YEAR) // BASE_YEARS
LARGEST_BY_LOCATIONS = (len(CITIES) + GRID_CELLS) // len(CITIES)


@dataclass(frozen=True)
class Extent:
    """The base years, all of them before 2023, and the number of places."""

    first_year: int
    place_count: int

    @property
    def years(self) -> range:
        return range(self.first_year, STREAM_YEAR)

    @property
    def base_hours(self) -> int:
        """The number of base hours at each place; they are the hours -base_hours … -1."""
        return -year_start(self.first_year)


def extent(scale: int, grow: Grow) -> Extent:
    """Return four years of six places, `scale` times: further back in time, or at more places."""
    if scale < 1:
        raise UsageError(f"--scale {scale} is not a positive number", "1 is the size of the original data")
    if grow == "locations":
        if scale > LARGEST_BY_LOCATIONS:
            raise UsageError(
                f"--scale {scale} needs more places than there are on the grid", f"stay within {LARGEST_BY_LOCATIONS}"
            )
        return Extent(STREAM_YEAR - BASE_YEARS, len(CITIES) * scale)
    if scale > LARGEST_BY_YEARS:
        raise UsageError(
            f"--scale {scale} by years would begin before year 1",
            f"use --grow locations, or stay within {LARGEST_BY_YEARS}",
        )
    return Extent(STREAM_YEAR - BASE_YEARS * scale, len(CITIES))


def year_start(year: int) -> int:
    """Return the year's first hour, counted from the stream's first."""
    return int((np.datetime64(f"{year:04d}-01-01T00", "h") - STREAM_START).astype(np.int64))


def clock_times(hours: Integers) -> npt.NDArray[np.str_]:
    """Write hours as YYYY-MM-DDTHH:MM, in UTC."""
    moments = STREAM_START + hours.astype("timedelta64[h]")
    return np.datetime_as_string(moments, unit="m")
