"""Join readings with their locations, into the bytes for Kafka. A bad line stops it before a byte is sent."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from common.errors import UsageError


def _in_calendar(time: str) -> str:
    datetime.fromisoformat(time)
    return time


class Line(BaseModel):
    """One line of a file. Fields that are not declared are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Location(Line):
    location_id: int
    latitude: Annotated[FiniteFloat, Field(ge=-90, le=90)]
    longitude: Annotated[FiniteFloat, Field(ge=-180, le=180)]


class Reading(Line):
    location_id: int
    time: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$"), AfterValidator(_in_calendar)]
    temperature_2m: FiniteFloat


class Record(NamedTuple):
    key: bytes
    value: bytes


L = TypeVar("L", bound=Line)


@dataclass(frozen=True)
class Weather:
    """A file of readings that was checked to its end. The first `count` readings are to be sent."""

    path: Path
    locations: Mapping[int, Location]
    count: int

    def records(self) -> Iterator[Record]:
        """Read the records again, in the file's order, because the file may be larger than memory."""
        readings = (reading for _, reading in islice(_lines(self.path, Reading), self.count))
        return (to_record(reading, self.locations[reading.location_id]) for reading in readings)

    def limited_to(self, limit: int | None) -> "Weather":
        if limit is None:
            return self
        if limit < 1:
            raise UsageError(f"--limit {limit} leaves nothing to send", "give a number above 0, or none for all")
        return replace(self, count=min(limit, self.count))


def read_weather(weather: Path, location_master: Path) -> Weather:
    """Check both files to their last line."""
    locations = _read_locations(location_master)
    count = 0
    for number, reading in _lines(weather, Reading):
        if reading.location_id not in locations:
            raise UsageError(
                f"{weather}, line {number}: no location {reading.location_id} in {location_master}",
                "add it there or correct the reading",
            )
        count += 1
    return Weather(weather, locations, count)


def to_record(reading: Reading, location: Location) -> Record:
    """Key a record by the table's key, so that all versions of a row are in one partition and stay in order."""
    key = {"latitude": location.latitude, "longitude": location.longitude, "time": reading.time}
    return Record(_compact(key), _compact({**key, "temperature_2m": reading.temperature_2m}))


def _compact(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _read_locations(path: Path) -> dict[int, Location]:
    locations: dict[int, Location] = {}
    for number, location in _lines(path, Location):
        if location.location_id in locations:
            raise UsageError(f"{path}, line {number}: location {location.location_id} again", "keep one of the two")
        locations[location.location_id] = location
    return locations


def _lines(path: Path, kind: type[L]) -> Iterator[tuple[int, L]]:
    """Parse each line and yield it with its number. Empty lines are left out."""
    seen = False
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    seen = True
                    yield number, _parse(line, kind, f"{path}, line {number}")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}", "correct the path") from error
    if not seen:
        raise UsageError(f"{path} holds no line", "generate it: python -m datasets.temperatures")


def _parse(line: bytes, kind: type[L], where: str) -> L:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        reason = f"{field}: {first['msg']}" if field else first["msg"]
        raise UsageError(f"{where}: {reason}", "correct the line, nothing has been sent") from error
