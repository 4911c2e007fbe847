"""The generator: exact counts, the same bytes for a seed, whole or nothing."""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as pds
import pytest

from common.errors import UsageError
from datasets.temperatures import Parameters, generate

ORIGINAL = Parameters(seed=1, scale=1, grow="years")
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    out = tmp_path_factory.mktemp("temperatures") / "out"
    generate(out, ORIGINAL)
    return out


def names(folder):
    return sorted(entry.name for entry in folder.iterdir())


def json_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def base_of(out):
    return pds.dataset(out / "base").to_table()


def command(*arguments, log_dir):
    return subprocess.Popen(
        [sys.executable, "-m", "datasets.temperatures", *map(str, arguments)],
        cwd=PROJECT,
        env={**os.environ, "ALLUVIUM_LOG_DIR": str(log_dir)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*arguments, log_dir):
    with command(*arguments, log_dir=log_dir) as process:
        out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def test_the_base_has_the_counts_of_the_original(dataset):
    base = base_of(dataset)
    assert base.schema.equals(
        pa.schema(
            {"latitude": pa.float64(), "longitude": pa.float64(), "time": pa.string(), "temperature_2m": pa.float64()}
        )
    )
    places = Counter(zip(base["latitude"].to_pylist(), base["longitude"].to_pylist(), strict=True))
    assert places == {
        (61.199997, -149.9): 35064,
        (51.5, -0.099990845): 35064,
        (41.90001, 12.5): 35064,
        (13.0, 77.600006): 35064,
        (30.200005, -95.5): 35064,
        (48.90001, 2.300003): 35064,
    }
    times = base["time"].to_pylist()
    assert (min(times), max(times)) == ("2019-01-01T00:00", "2022-12-31T23:00")
    assert len(names(dataset / "base")) == 4


def test_the_stream_is_181_days_and_the_corrections(dataset):
    weather = json_lines(dataset / "streaming" / "weather.json")
    assert list(weather[0]) == ["location_id", "time", "temperature_2m"]
    assert len({(row["location_id"], row["time"]) for row in weather}) == len(weather) == 26_064 + 1_200
    new = Counter(row["location_id"] for row in weather if row["time"] >= "2023")
    assert new == dict.fromkeys(range(1, 7), 4344)
    assert max(row["time"] for row in weather) == "2023-06-30T23:00"


def test_the_master_names_the_six(dataset):
    master = json_lines(dataset / "streaming" / "location_master.json")
    assert master[1] == {"location_id": 2, "name": "London", "latitude": 51.5, "longitude": -0.099990845}
    assert [row["location_id"] for row in master] == [1, 2, 3, 4, 5, 6]


def test_the_expectation_is_what_base_and_stream_say(dataset):
    base = base_of(dataset)
    columns = (base[name].to_pylist() for name in ("latitude", "longitude", "time", "temperature_2m"))
    before = {(lat, lon, time): value for lat, lon, time, value in zip(*columns, strict=True)}
    where = {row["location_id"]: row for row in json_lines(dataset / "streaming" / "location_master.json")}
    after = {
        (where[row["location_id"]]["latitude"], where[row["location_id"]]["longitude"], row["time"]): row[
            "temperature_2m"
        ]
        for row in json_lines(dataset / "streaming" / "weather.json")
    }
    corrections = json_lines(dataset / "corrections.json")
    keys = [(row["latitude"], row["longitude"], row["time"]) for row in corrections]
    assert set(keys) == before.keys() & after.keys()
    assert [row["before"] for row in corrections] == [before[key] for key in keys]
    assert [row["after"] for row in corrections] == [after[key] for key in keys]
    assert all(abs(row["after"] - row["before"]) >= 0.1 for row in corrections)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(dataset, tmp_path):
    generate(tmp_path / "again", ORIGINAL)
    generate(tmp_path / "other", Parameters(seed=2, scale=1, grow="years"))
    files = ("corrections.json", "streaming/weather.json", "streaming/location_master.json")
    for name in files:
        assert (tmp_path / "again" / name).read_bytes() == (dataset / name).read_bytes()
    assert base_of(tmp_path / "again").equals(base_of(dataset))
    assert (tmp_path / "other" / files[1]).read_bytes() != (dataset / files[1]).read_bytes()
    assert not base_of(tmp_path / "other").equals(base_of(dataset))


def test_more_years_begin_earlier_and_change_nothing_later(dataset, tmp_path):
    summary = generate(tmp_path / "out", Parameters(seed=1, scale=2, grow="years"))
    base = base_of(tmp_path / "out")
    assert summary.base_rows == len(base) == 6 * (35064 * 2)
    assert min(base["time"].to_pylist()) == "2015-01-01T00:00"
    later = base.filter(pds.field("time") >= "2019")
    assert later.equals(base_of(dataset))


def test_more_locations_begin_with_the_six(dataset, tmp_path):
    summary = generate(tmp_path / "out", Parameters(seed=1, scale=2, grow="locations"))
    base = base_of(tmp_path / "out")
    assert summary.base_rows == len(base) == 12 * 35064
    assert summary.stream_rows == 12 * (4344 + 200)
    assert len(json_lines(tmp_path / "out" / "streaming" / "location_master.json")) == 12
    six = base.filter(pds.field("latitude").isin([61.199997, 51.5, 41.90001, 13.0, 30.200005, 48.90001]))
    assert six.sort_by([("time", "ascending"), ("latitude", "ascending")]).equals(
        base_of(dataset).sort_by([("time", "ascending"), ("latitude", "ascending")])
    )


def test_long_spans_and_many_places_are_cut_into_several_files(monkeypatch, dataset, tmp_path):
    monkeypatch.setattr("datasets.weather.base.MOST_SPANS", 2)
    monkeypatch.setattr("datasets.weather.base.PLACES_PER_FILE", 4)
    generate(tmp_path / "out", ORIGINAL)
    assert names(tmp_path / "out" / "base") == [
        "temperatures-2019-2020-0000.parquet",
        "temperatures-2019-2020-0001.parquet",
        "temperatures-2021-2022-0000.parquet",
        "temperatures-2021-2022-0001.parquet",
    ]
    order = [("time", "ascending"), ("latitude", "ascending")]
    assert base_of(tmp_path / "out").sort_by(order).equals(base_of(dataset).sort_by(order))


def test_an_existing_dataset_is_replaced_only_when_told(dataset, tmp_path):
    out = tmp_path / "out"
    generate(out, ORIGINAL)
    other = Parameters(seed=2, scale=1, grow="years")
    with pytest.raises(UsageError):
        generate(out, other)
    assert json.loads((out / "manifest.json").read_text())["seed"] == 1
    generate(out, other, overwrite=True)
    assert json.loads((out / "manifest.json").read_text())["seed"] == 2


def test_a_failure_in_the_middle_leaves_nothing(monkeypatch, tmp_path):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("datasets.temperatures.write_weather", fail)
    with pytest.raises(Exception, match="No space left"):
        generate(tmp_path / "out", ORIGINAL)
    assert names(tmp_path) == []


def test_a_killed_run_leaves_no_dataset_and_the_next_one_clears_up(tmp_path):
    out = tmp_path / "data" / "out"
    partial = out.with_name(".out.partial")
    with command(out, "--scale", 400, log_dir=tmp_path) as process:
        while not any(partial.glob("base/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert process.returncode == -9
    assert names(out.parent) == [partial.name]
    generate(out, ORIGINAL)
    assert names(out.parent) == ["out"]


def test_the_command_says_what_it_wrote_and_does_nothing_twice(tmp_path):
    out = tmp_path / "out"
    assert run(out, log_dir=tmp_path) == (
        0,
        "210,384 base rows in 4 files, 6 locations\n27,264 streamed rows: 26,064 new hours, 1,200 corrections\n",
        "",
    )
    made_at = (out / "manifest.json").stat().st_mtime_ns
    assert run(out, "--if-missing", log_dir=tmp_path) == (0, f"{out} is there already\n", "")
    assert (out / "manifest.json").stat().st_mtime_ns == made_at
    code, _, error = run(out, "--if-missing", "--seed", 2, log_dir=tmp_path)
    assert (code, error.count("\n"), error[:7]) == (2, 1, "error: ")
