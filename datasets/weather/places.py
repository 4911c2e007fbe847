"""The places: six real ones with their climates, then as many as wanted on a grid around the globe."""

from dataclasses import dataclass

import numpy as np

from datasets.draws import uniform


@dataclass(frozen=True, kw_only=True)
class Climate:
    """The numbers that make a place's curve: temperatures in degrees Celsius, amplitudes as half of the range."""

    mean: float
    annual: float
    warmest_day: float
    diurnal_winter: float
    diurnal_summer: float
    weather_winter: float
    weather_summer: float


@dataclass(frozen=True)
class Place:
    location_id: int
    name: str
    latitude: float
    longitude: float
    climate: Climate


def _climate(
    mean: float, annual: float, warmest_day: float, diurnal: tuple[float, float], weather: tuple[float, float]
) -> Climate:
    return Climate(
        mean=mean,
        annual=annual,
        warmest_day=warmest_day,
        diurnal_winter=diurnal[0],
        diurnal_summer=diurnal[1],
        weather_winter=weather[0],
        weather_summer=weather[1],
    )


CITIES = (
    Place(1, "Anchorage", 61.199997, -149.9, _climate(3.0, 11.8, 199, (1.5, 4.0), (5.5, 2.2))),
    Place(2, "London", 51.5, -0.099990845, _climate(11.3, 6.7, 206, (1.6, 4.4), (3.2, 2.5))),
    Place(3, "Rome", 41.90001, 12.5, _climate(16.1, 8.4, 210, (3.6, 5.8), (2.6, 1.9))),
    Place(4, "Bangalore", 13.0, 77.600006, _climate(23.9, 2.6, 118, (5.2, 4.6), (0.9, 0.9))),
    Place(5, "Spring TX", 30.200005, -95.5, _climate(20.6, 8.9, 208, (5.0, 5.2), (5.0, 1.3))),
    Place(6, "Paris", 48.90001, 2.300003, _climate(12.2, 7.8, 205, (1.9, 5.2), (3.6, 2.9))),
)

# Cells of half a degree; their centres end in .25 and .75, exact in binary and never a city's coordinates.
GRID_SOUTH, GRID_WEST = -54.75, -179.75
GRID_ROWS, GRID_COLUMNS = 250, 720
GRID_CELLS = GRID_ROWS * GRID_COLUMNS
# Prime to the number of cells and near the golden section of it: successive places lie far apart, none comes twice.
GRID_STRIDE = 111_247


def places(count: int, seed: int) -> list[Place]:
    """Return the six cities, then the grid; a longer list begins with the shorter one."""
    inland = uniform(seed, "continentality", np.arange(count - len(CITIES)))
    return [*CITIES, *(_on_grid(number, continentality) for number, continentality in enumerate(inland.tolist()))]


def _on_grid(number: int, continentality: float) -> Place:
    row, column = divmod(number * GRID_STRIDE % GRID_CELLS, GRID_COLUMNS)
    latitude, longitude = GRID_SOUTH + row / 2, GRID_WEST + column / 2
    return Place(
        len(CITIES) + 1 + number,
        f"Station {latitude} {longitude}",
        latitude,
        longitude,
        _typical_climate(latitude, continentality),
    )


def _typical_climate(latitude: float, continentality: float) -> Climate:
    """Return a climate: colder and more seasonal away from the equator, more extreme inland (1) than by the sea (0)."""
    distance = abs(latitude) / 90
    return Climate(
        mean=27 - 42 * distance**1.6,
        annual=1 + distance * (10 + 16 * continentality),
        warmest_day=203 if latitude >= 0 else 203 - 182.6,
        diurnal_winter=1.5 + 3 * continentality * (1 - distance),
        diurnal_summer=3 + 3 * continentality,
        weather_winter=0.8 + distance * (4 + 4 * continentality),
        weather_summer=0.8 + distance * (2 + 1.5 * continentality),
    )
