"""The files of the stream: readings as they arrive, the master of their locations, and what a verifier expects."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from datasets.draws import Integers
from datasets.weather.arrivals import arrivals
from datasets.weather.corrections import Corrections
from datasets.weather.extent import clock_times
from datasets.weather.places import Place

Row = Mapping[str, object]


def write_weather(path: Path, seed: int, places: Sequence[Place], corrections: Corrections) -> int:
    """Write the stream in the order of arrival, and return the number of readings, corrections included."""
    ids = np.array([place.location_id for place in places])
    count = 0
    with path.open("w") as file:
        for readings in arrivals(seed, places, corrections):
            count += len(readings.hour)
            columns = (ids[readings.place].tolist(), _times(readings.hour), (readings.tenths / 10).tolist())
            file.writelines(
                _line({"location_id": location_id, "time": time, "temperature_2m": temperature})
                for location_id, time, temperature in zip(*columns, strict=True)
            )
    return count


def write_location_master(path: Path, places: Sequence[Place]) -> None:
    _write(
        path,
        (
            {
                "location_id": place.location_id,
                "name": place.name,
                "latitude": place.latitude,
                "longitude": place.longitude,
            }
            for place in places
        ),
    )


def write_corrections(path: Path, places: Sequence[Place], corrections: Corrections) -> None:
    columns = (
        corrections.place.tolist(),
        _times(corrections.hour),
        (corrections.before / 10).tolist(),
        (corrections.after / 10).tolist(),
    )
    _write(
        path,
        (
            {
                "latitude": places[place].latitude,
                "longitude": places[place].longitude,
                "time": time,
                "before": before,
                "after": after,
            }
            for place, time, before, after in zip(*columns, strict=True)
        ),
    )


def _times(hours: Integers) -> list[str]:
    """Write the hours as texts, each distinct one once, because making a text is the slow part."""
    distinct, positions = np.unique(hours, return_inverse=True)
    texts: list[str] = clock_times(distinct)[positions].tolist()
    return texts


def _write(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w") as file:
        file.writelines(_line(row) for row in rows)


def _line(row: Row) -> str:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False) + "\n"
