"""From lines of two files to the bytes that Kafka gets."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import UsageError
from common.produce.records import Location, Reading, Record, read_weather, to_record

MASTER = (
    b'{"location_id":2,"name":"London","latitude":51.5,"longitude":-0.099990845}\n'
    b'{"location_id":4,"name":"Bangalore","latitude":13,"longitude":77.600006}\n'
)
WEATHER = (
    b'{"location_id":4,"time":"2023-01-01T00:00","temperature_2m":18.4}\n'
    b"\n"
    b'{"location_id":2,"time":"2022-12-31T23:00","temperature_2m":-3}\n'
)


@pytest.fixture
def read(tmp_path):
    def read_files(weather=WEATHER, master=MASTER):
        (tmp_path / "weather.json").write_bytes(weather)
        (tmp_path / "master.json").write_bytes(master)
        return read_weather(tmp_path / "weather.json", tmp_path / "master.json")

    return read_files


def test_keys_and_values_are_exactly_these_bytes(read):
    assert list(read().records()) == [
        Record(
            b'{"latitude":13.0,"longitude":77.600006,"time":"2023-01-01T00:00"}',
            b'{"latitude":13.0,"longitude":77.600006,"time":"2023-01-01T00:00","temperature_2m":18.4}',
        ),
        Record(
            b'{"latitude":51.5,"longitude":-0.099990845,"time":"2022-12-31T23:00"}',
            b'{"latitude":51.5,"longitude":-0.099990845,"time":"2022-12-31T23:00","temperature_2m":-3.0}',
        ),
    ]


def test_a_limit_takes_the_first(read):
    limited = read().limited_to(1)
    assert limited.count == 1
    assert [json.loads(record.value)["latitude"] for record in limited.records()] == [13.0]
    assert read().limited_to(5).count == read().limited_to(None).count == 2


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_leaves_nothing_is_refused(read, limit):
    with pytest.raises(UsageError):
        read().limited_to(limit)


@given(st.floats(-90, 90), st.floats(-180, 180), st.floats(-100, 100))
def test_no_number_changes_on_its_way(latitude, longitude, temperature):
    location = Location.model_validate_json(
        json.dumps({"location_id": 1, "latitude": latitude, "longitude": longitude})
    )
    reading = Reading.model_validate_json(
        json.dumps({"location_id": 1, "time": "2023-01-01T00:00", "temperature_2m": temperature})
    )
    sent = json.loads(to_record(reading, location).value)
    assert (sent["latitude"], sent["longitude"], sent["temperature_2m"]) == (latitude, longitude, temperature)
    assert math.copysign(1, sent["latitude"]) == math.copysign(1, latitude)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b"{", "Invalid JSON"),
        (b"[]", "object"),
        (b'{"location_id":2,"time":"2023-01-01T00:00"}', "temperature_2m"),
        (b'{"location_id":"2","time":"2023-01-01T00:00","temperature_2m":1}', "location_id"),
        (b'{"location_id":2,"time":"2023-01-01","temperature_2m":1}', "time"),
        (b'{"location_id":2,"time":"2023-02-30T00:00","temperature_2m":1}', "time"),
        (b'{"location_id":2,"time":"2023-01-01T00:00","temperature_2m":NaN}', "temperature_2m"),
        (b'{"location_id":2,"time":"2023-01-01T00:00","temperature_2m":null}', "temperature_2m"),
        (b'{"location_id":2,"time":"2023-01-01T00:00","temperature_2m":"1"}', "temperature_2m"),
        (b"\xff\xfe", "JSON"),
        (b'{"location_id":9,"time":"2023-01-01T00:00","temperature_2m":1}', "no location 9"),
    ],
)
def test_a_broken_reading_is_named_by_file_and_line(read, line, named):
    with pytest.raises(UsageError) as broken:
        read(weather=WEATHER + line + b"\n")
    assert "weather.json, line 4: " in broken.value.message
    assert named in broken.value.message
    assert "\n" not in str(broken.value)


@pytest.mark.parametrize(
    ("line", "named"),
    [
        (b'{"location_id":5,"latitude":91,"longitude":0}', "latitude"),
        (b'{"location_id":5,"latitude":1,"longitude":-181}', "longitude"),
        (b'{"location_id":2,"latitude":1,"longitude":1}', "location 2 again"),
    ],
)
def test_a_broken_location_is_named_by_file_and_line(read, line, named):
    with pytest.raises(UsageError) as broken:
        read(master=MASTER + line)
    assert "master.json, line 3: " in broken.value.message
    assert named in broken.value.message


@pytest.mark.parametrize("content", [b"", b"\n \n"])
@pytest.mark.parametrize("which", ["weather", "master"])
def test_an_empty_file_is_refused(read, which, content):
    with pytest.raises(UsageError) as empty:
        read(**{which: content})
    assert f"{which}.json holds no line" in empty.value.message


def test_a_file_that_is_missing_or_a_folder_is_refused(read, tmp_path):
    read()
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(UsageError) as refused:
            read_weather(path, tmp_path / "master.json")
        assert str(path) in refused.value.message
        with pytest.raises(UsageError):
            read_weather(tmp_path / "weather.json", path)
