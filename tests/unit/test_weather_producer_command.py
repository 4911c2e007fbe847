"""The command as a user meets it: what it prints where, and with which code it exits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
CLOSED = "127.0.0.1:1"


@pytest.fixture
def files(tmp_path):
    weather, master = tmp_path / "weather.json", tmp_path / "master.json"
    weather.write_text('{"location_id":2,"time":"2023-01-01T00:00","temperature_2m":4.0}\n' * 2)
    master.write_text('{"location_id":2,"name":"London","latitude":51.5,"longitude":-0.099990845}\n')
    return weather, master


@pytest.fixture
def produce(tmp_path):
    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "jobs.weather_producer", *map(str, arguments)],
            cwd=PROJECT,
            env={**os.environ, "ALLUVIUM_LOG_DIR": str(tmp_path / "log")},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def is_one_error_line(text):
    return text.startswith("error: ") and text.count("\n") == 1 and "; " in text


def test_a_dry_run_says_what_it_would_send_and_asks_no_broker(files, produce):
    done = produce(*files, "--brokers", "127.0.0.1", "--topic", "t", "--limit", 1, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Would send 1 records to t on 127.0.0.1:9092, the first: "
        '{"latitude":51.5,"longitude":-0.099990845,"time":"2023-01-01T00:00","temperature_2m":4.0}\n'
    )


@pytest.mark.parametrize(
    "arguments",
    [("--rate", "0"), ("--rate", "-1"), ("--limit", "0"), ("--brokers", "http://127.0.0.1"), ("--brokers", "a:b")],
)
def test_a_wrong_option_is_one_line_and_code_2(files, produce, arguments):
    done = produce(*files, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_error_line(done.stderr)


def test_a_broken_file_is_found_before_a_broker_is_asked(files, produce):
    weather, master = files
    with weather.open("a") as file:
        file.write("{")
    done = produce(weather, master, "--brokers", CLOSED)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_error_line(done.stderr)
    assert f"{weather}, line 3" in done.stderr


def test_an_unreachable_broker_is_one_line_and_code_75(files, produce):
    done = produce(*files, "--brokers", CLOSED)
    assert (done.returncode, done.stdout) == (75, "")
    assert is_one_error_line(done.stderr)
    assert CLOSED in done.stderr
