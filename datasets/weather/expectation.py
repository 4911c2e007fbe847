"""The rows that a table must have after base and stream, read from the dataset's files and not from its generator."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pds
import pyarrow.json as pj

from common.errors import UsageError
from datasets.draws import Floats, Integers

UNKNOWN = -1


class Kind(IntEnum):
    """The kinds of hours: as the base has them, corrected by the stream, or new in the stream."""

    UNTOUCHED = 0
    CORRECTED = 1
    STREAMED = 2


@dataclass(frozen=True)
class Keys:
    """Numbers every (latitude, longitude, time) of the dataset: its cell in arrays of all hours of all places."""

    latitudes: pa.Array
    longitudes: pa.Array
    times: pa.Array

    def __len__(self) -> int:
        return len(self.latitudes) * len(self.times)

    def cells(self, rows: pa.Table) -> Integers:
        """Return the cell of each row, or UNKNOWN."""
        place = self._places(rows["latitude"], rows["longitude"])
        time = _positions(rows["time"].cast(pa.string()), self.times)
        return np.where((place < 0) | (time < 0), UNKNOWN, place * len(self.times) + time)

    def name(self, cell: int) -> str:
        place, time = divmod(cell, len(self.times))
        return f"{self.times[time]} at {self.latitudes[place]}, {self.longitudes[place]}"

    def _places(self, latitude: pa.ChunkedArray, longitude: pa.ChunkedArray) -> Integers:
        known = self._pairs(self.latitudes, self.longitudes)
        order = np.argsort(known)
        asked = self._pairs(latitude, longitude)
        found = order[np.searchsorted(known, asked, sorter=order).clip(max=len(known) - 1)]
        return np.where((asked >= 0) & (known[found] == asked), found, UNKNOWN)

    def _pairs(self, latitude: pa.Array, longitude: pa.Array) -> Integers:
        first, second = _positions(latitude, self.latitudes), _positions(longitude, self.longitudes)
        return np.where((first < 0) | (second < 0), UNKNOWN, first * len(self.longitudes) + second)


@dataclass(frozen=True)
class Expectation:
    keys: Keys
    value: Floats
    kind: npt.NDArray[np.uint8]


def read_expectation(dataset: Path) -> Expectation:
    """Read the base, overlaid by the stream, overlaid by the corrections."""
    try:
        return _expectation(dataset)
    except (OSError, pa.ArrowInvalid, KeyError) as error:
        raise UsageError(
            f"{dataset} is not a dataset of temperatures ({str(error).splitlines()[0]})",
            "make one: python -m datasets.temperatures",
        ) from error


def _expectation(dataset: Path) -> Expectation:
    base = pds.dataset(dataset / "base")
    stream = _read_stream(dataset / "streaming")
    corrections = _read_json(
        dataset / "corrections.json",
        latitude=pa.float64(),
        longitude=pa.float64(),
        time=pa.string(),
        after=pa.float64(),
    )
    keys = _keys(dataset, base, stream)
    value = np.full(len(keys), np.nan)
    kind = np.full(len(keys), Kind.STREAMED, dtype=np.uint8)
    for rows in _batches(base):
        kind[keys.cells(rows)] = Kind.UNTOUCHED
        value[keys.cells(rows)] = rows["temperature_2m"]
    value[keys.cells(stream)] = stream["temperature_2m"]
    kind[keys.cells(corrections)] = Kind.CORRECTED
    value[keys.cells(corrections)] = corrections["after"]
    return Expectation(keys, value, kind)


def _keys(dataset: Path, base: pds.Dataset, stream: pa.Table) -> Keys:
    places = _master(dataset / "streaming")
    times = pa.chunked_array([pc.unique(rows["time"]) for rows in _batches(base)] + [pc.unique(stream["time"])])
    return Keys(places["latitude"].combine_chunks(), places["longitude"].combine_chunks(), times.unique().sort())


def _read_stream(streaming: Path) -> pa.Table:
    """Read the readings, with coordinates in place of the location's id."""
    readings = _read_json(
        streaming / "weather.json", location_id=pa.int64(), time=pa.string(), temperature_2m=pa.float64()
    )
    places = _master(streaming)
    where = places.take(pc.index_in(readings["location_id"], value_set=places["location_id"].combine_chunks()))
    return pa.table(
        {
            "latitude": where["latitude"],
            "longitude": where["longitude"],
            "time": readings["time"],
            "temperature_2m": readings["temperature_2m"],
        }
    )


def _master(streaming: Path) -> pa.Table:
    return _read_json(
        streaming / "location_master.json", location_id=pa.int64(), latitude=pa.float64(), longitude=pa.float64()
    )


def _read_json(path: Path, **columns: pa.DataType) -> pa.Table:
    """Read only these columns, in these types, because an inferred time would not stay a text."""
    options = pj.ParseOptions(explicit_schema=pa.schema(columns), unexpected_field_behavior="ignore")
    return pj.read_json(path, parse_options=options)


def _batches(base: pds.Dataset) -> Iterator[pa.Table]:
    return (pa.Table.from_batches([batch]) for batch in base.to_batches())


def _positions(values: pa.Array | pa.ChunkedArray, known: pa.Array) -> Integers:
    return np.asarray(pc.fill_null(pc.index_in(values, value_set=known), UNKNOWN), dtype=np.int64)
