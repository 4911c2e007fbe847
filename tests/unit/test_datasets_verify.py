"""The verifier notices each way in which a merge can go wrong; on small real Delta tables, without Spark."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from common.errors import NotADeltaTable, UsageError
from datasets.verify_temperatures import claims, verify
from datasets.weather.expectation import Kind

LONDON, ROME = (51.5, -0.099990845), (41.90001, 12.5)
BASE = [
    (*LONDON, "2022-12-31T22:00", 5.0),
    (*LONDON, "2022-12-31T23:00", 4.5),
    (*ROME, "2022-12-31T22:00", 9.0),
    (*ROME, "2022-12-31T23:00", 8.5),
]
MERGED = [
    (*LONDON, "2022-12-31T22:00", 5.0),
    (*LONDON, "2022-12-31T23:00", 3.9),
    (*LONDON, "2023-01-01T00:00", 4.0),
    (*ROME, "2022-12-31T22:00", 9.0),
    (*ROME, "2022-12-31T23:00", 8.5),
    (*ROME, "2023-01-01T00:00", 8.0),
]


def as_table(rows):
    names = ("latitude", "longitude", "time", "temperature_2m")
    types = (pa.float64(), pa.float64(), pa.string(), pa.float64())
    columns = zip(*rows, strict=True)
    return pa.table(
        {name: pa.array(list(values), kind) for name, kind, values in zip(names, types, columns, strict=True)}
    )


def write_lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def dataset(tmp_path):
    out = tmp_path / "out"
    (out / "base").mkdir(parents=True)
    (out / "streaming").mkdir()
    pq.write_table(as_table(BASE), out / "base" / "a.parquet")
    write_lines(
        out / "streaming" / "location_master.json",
        {"location_id": 2, "name": "London", "latitude": 51.5, "longitude": -0.099990845},
        {"location_id": 3, "name": "Rome", "latitude": 41.90001, "longitude": 12.5},
    )
    write_lines(
        out / "streaming" / "weather.json",
        {"location_id": 3, "time": "2023-01-01T00:00", "temperature_2m": 8.0},
        {"location_id": 2, "time": "2022-12-31T23:00", "temperature_2m": 3.9},
        {"location_id": 2, "time": "2023-01-01T00:00", "temperature_2m": 4.0},
    )
    write_lines(
        out / "corrections.json",
        {"latitude": 51.5, "longitude": -0.099990845, "time": "2022-12-31T23:00", "before": 4.5, "after": 3.9},
    )
    return out


@pytest.fixture
def verified(dataset, tmp_path):
    def verify_rows(rows):
        write_deltalake(tmp_path / "delta", as_table(rows))
        return verify(dataset, str(tmp_path / "delta"))

    return verify_rows


def replaced(index, *rows):
    return [*MERGED[:index], *rows, *MERGED[index + 1 :]]


def test_a_merged_table_passes(verified):
    found = verified(MERGED)
    assert (found.rows, found.wrong, found.first_wrong) == (6, 0, "")
    assert claims(found) == [
        "1 of 1 corrected hours hold the corrected value",
        "2 of 2 streamed hours hold the streamed value",
        "3 of 3 untouched hours hold the base value",
    ]


def test_further_columns_and_partitions_do_not_matter(dataset, tmp_path):
    table = as_table(MERGED).append_column("month", pa.array([row[2][:7] for row in MERGED]))
    write_deltalake(tmp_path / "delta", table, partition_by=["month"])
    assert verify(dataset, str(tmp_path / "delta")).wrong == 0


@pytest.mark.parametrize(
    ("rows", "kind", "wrong", "first"),
    [
        pytest.param(
            replaced(1, BASE[1]),
            Kind.CORRECTED,
            1,
            "the corrected hour 2022-12-31T23:00 at 51.5, -0.099990845 holds 4.5, not 3.9",
            id="uncorrected",
        ),
        pytest.param(
            replaced(5),
            Kind.STREAMED,
            1,
            "the streamed hour 2023-01-01T00:00 at 41.90001, 12.5 is missing",
            id="lost",
        ),
        pytest.param(
            replaced(2, MERGED[2], MERGED[2]),
            Kind.STREAMED,
            1,
            "the streamed hour 2023-01-01T00:00 at 51.5, -0.099990845 is there 2 times",
            id="doubled",
        ),
        pytest.param(
            replaced(1, BASE[1], MERGED[1]),
            Kind.CORRECTED,
            1,
            "the corrected hour 2022-12-31T23:00 at 51.5, -0.099990845 is there 2 times",
            id="appended instead of merged",
        ),
        pytest.param(
            replaced(3, (*ROME, "2022-12-31T22:00", 9.1)),
            Kind.UNTOUCHED,
            1,
            "the untouched hour 2022-12-31T22:00 at 41.90001, 12.5 holds 9.1, not 9.0",
            id="damaged",
        ),
        pytest.param(
            replaced(3, (*ROME, "2022-12-31T22:00", None)),
            Kind.UNTOUCHED,
            1,
            "the untouched hour 2022-12-31T22:00 at 41.90001, 12.5 holds nan, not 9.0",
            id="emptied",
        ),
        pytest.param(
            replaced(4, (51.5, 12.5, "2022-12-31T23:00", 8.5)),
            Kind.UNTOUCHED,
            2,
            "the untouched hour 2022-12-31T23:00 at 41.90001, 12.5 is missing",
            id="moved to a pair of known coordinates that is no place",
        ),
    ],
)
def test_each_damage_is_named(verified, rows, kind, wrong, first):
    found = verified(rows)
    assert (found.wrong, found.first_wrong) == (wrong, first)
    assert found.right[kind] == found.expected[kind] - 1
    assert all(found.right[other] == found.expected[other] for other in Kind if other != kind)


@pytest.mark.parametrize(
    "stranger",
    [
        (*LONDON, "2023-01-01T01:00", 4.0),
        (0.0, 0.0, "2022-12-31T22:00", 4.0),
        (None, 12.5, "2022-12-31T22:00", 4.0),
        (*LONDON, None, 4.0),
    ],
)
def test_a_row_of_neither_base_nor_stream_is_named(verified, stranger):
    found = verified([*MERGED, stranger])
    assert found.wrong == 1
    assert "neither of the base nor of the stream" in found.first_wrong


def test_all_damages_are_counted_and_the_first_is_by_place_and_time(verified):
    found = verified(BASE)
    assert found.wrong == 3
    assert "corrected hour 2022-12-31T23:00 at 51.5" in found.first_wrong


def test_what_is_no_table_or_no_dataset_is_an_error_of_usage(dataset, tmp_path):
    with pytest.raises(NotADeltaTable):
        verify(dataset, str(tmp_path / "none"))
    with pytest.raises(UsageError):
        verify(tmp_path / "none", str(tmp_path / "delta"))
    write_deltalake(tmp_path / "delta", pa.table({"x": [1]}))
    with pytest.raises(NotADeltaTable):
        verify(dataset, str(tmp_path / "delta"))


@pytest.mark.parametrize(("rows", "code", "errors"), [(MERGED, 0, 0), (BASE, 1, 1)])
def test_the_command_exits_with_1_and_one_line_on_a_difference(dataset, tmp_path, rows, code, errors):
    write_deltalake(tmp_path / "delta", as_table(rows))
    done = subprocess.run(
        [sys.executable, "-m", "datasets.verify_temperatures", dataset, tmp_path / "delta"],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "ALLUVIUM_LOG_DIR": str(tmp_path / "log")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (code, errors)
    assert f"{1 - errors} of 1 corrected hours hold the corrected value\n" in done.stdout
