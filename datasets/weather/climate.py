"""The temperature at a place and an hour: season, time of day, and weather that comes and goes over days."""

from collections.abc import Sequence

import numpy as np

from datasets.draws import Floats, Integers, uniform
from datasets.weather.places import Climate, Place

YEAR_HOURS = 365.2425 * 24
WARMEST_SOLAR_HOUR = 15.5
# Fronts pass within days, spells last weeks, and no year is like the last; none of the periods divides another.
WAVE_DAYS = np.array([1.7, 2.3, 3.1, 4.3, 5.9, 7.7, 10.3, 14.9, 21.1, 31.7, 47.3, 71.9, 983.0, 2011.0])
WAVE_WEIGHTS = np.array([0.35, 0.5, 0.7, 0.9, 1.0, 1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.3])
WAVE_AMPLITUDES = WAVE_WEIGHTS / np.sqrt(np.sum(WAVE_WEIGHTS**2) / 2)
# Two places never swing in step, so each stretches the common periods by up to a tenth.
WAVE_STRETCH = 0.1


def temperatures(seed: int, places: Sequence[Place], hours: Integers) -> Integers:
    """Return tenths of a degree, one row a place. `hours` are shared or a row a place, from 2023-01-01T00:00 UTC on."""
    season = _season(places, hours)
    degrees = (
        _column(places, "mean")
        + _column(places, "annual") * season
        + _between(places, "diurnal_winter", "diurnal_summer", season) * _time_of_day(places, hours)
        + _between(places, "weather_winter", "weather_summer", season) * _weather(seed, places, hours)
    )
    return np.rint(degrees * 10).astype(np.int64)


def _season(places: Sequence[Place], hours: Integers) -> Floats:
    """Return 1 for the warmest day of the year, and -1 for half a year later."""
    turned = hours / YEAR_HOURS - (_column(places, "warmest_day") - 1) * 24 / YEAR_HOURS
    return np.cos(2 * np.pi * turned)


def _time_of_day(places: Sequence[Place], hours: Integers) -> Floats:
    """Return 1 for the afternoon by the sun, and about -1 before dawn. The rise is steeper than the evening's fall."""
    longitudes = np.array([[place.longitude] for place in places])
    turned = 2 * np.pi * (hours % 24 + longitudes / 15 - WARMEST_SOLAR_HOUR) / 24
    return (np.cos(turned) + 0.18 * np.cos(2 * turned + 0.9)) / 1.1


def _weather(seed: int, places: Sequence[Place], hours: Integers) -> Floats:
    """Return noise of variance 1, autocorrelated. A sum of waves needs no history: any hour can be computed alone."""
    ids = np.array([[place.location_id] for place in places])
    total = np.zeros(np.broadcast_shapes(ids.shape, hours.shape))
    for wave, (days, amplitude) in enumerate(zip(WAVE_DAYS, WAVE_AMPLITUDES, strict=True)):
        period = 24 * days * (1 + WAVE_STRETCH * (2 * uniform(seed, "wave period", ids, wave) - 1))
        total += amplitude * np.sin(2 * np.pi * (hours / period + uniform(seed, "wave phase", ids, wave)))
    return total


def _between(places: Sequence[Place], winter: str, summer: str, season: Floats) -> Floats:
    low, high = _column(places, winter), _column(places, summer)
    return (low + high) / 2 + (high - low) / 2 * season


def _column(places: Sequence[Place], name: str) -> Floats:
    """Return one number of each place's climate, shaped to meet a row of hours."""
    climates: list[Climate] = [place.climate for place in places]
    return np.array([[getattr(climate, name)] for climate in climates], dtype=np.float64)
