"""Bad input through the real scripts: one line that names the thing and the remedy, the right code, nothing written."""

from pathlib import Path

import pytest

from kafka_docker.embedded.ports import free_port
from tests.support.broker import Broker
from tests.support.commands import clean_environment, complaints, run

BASE_LOAD = "submit/temperatures_delta_processing.sh"
MERGE = "submit/streaming_merge.sh"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """What a job takes for a table as long as it has not looked inside."""
    log = tmp_path / "table" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").touch()
    return tmp_path / "table"


def refused(command: list[str | Path], code: int, *said: str, **environment: str) -> None:
    done = run(command, environment=clean_environment(**environment))
    (line,) = complaints(done)
    assert line.startswith("error: ")
    for part in said:
        assert part in line
    assert done.returncode == code
    assert done.stdout == ""


def test_a_missing_input_folder(tmp_path: Path) -> None:
    refused(
        [BASE_LOAD, tmp_path / "nowhere", tmp_path / "out"], 2, f"no input folder {tmp_path}/nowhere", "give the folder"
    )
    assert not (tmp_path / "out").exists()


def test_a_folder_with_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    refused(
        [BASE_LOAD, tmp_path / "in", tmp_path / "out"], 2, f"no parquet file in {tmp_path}/in", "datasets.temperatures"
    )
    assert not (tmp_path / "out").exists()


def test_a_base_load_onto_an_existing_table(tmp_path: Path, table: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").touch()
    refused([BASE_LOAD, tmp_path / "in", table], 2, f"{table} is a Delta table already", "--overwrite")


def test_a_base_load_into_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").touch()
    refused([BASE_LOAD, tmp_path / "in", tmp_path], 2, f"{tmp_path} is not empty and not a Delta table")


def test_an_unreachable_broker(table: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    refused(
        [MERGE, "--mode", "batch", table, address, "temperatures"],
        75,
        f"no Kafka broker answers at {address}",
        "start it",
    )
    assert not (table / "_alluvium").exists()


def test_a_missing_topic(broker: Broker, table: Path) -> None:
    command: list[str | Path] = [MERGE, "--mode", "stream", table, broker.address, "no-such-topic"]
    refused(command, 2, f"no topic 'no-such-topic' on {broker.address}", "create-topic no-such-topic")
    assert not (table / "_alluvium").exists()


def test_a_folder_that_is_not_a_delta_table(tmp_path: Path) -> None:
    refused([MERGE, "--mode", "batch", tmp_path, "127.0.0.1", "t"], 2, f"{tmp_path} is not a Delta table", BASE_LOAD)
    refused(["submit/delta_reader.sh", tmp_path / "nowhere"], 2, f"{tmp_path}/nowhere does not exist", BASE_LOAD)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_pipeline_key(tmp_path: Path, table: Path) -> None:
    good = (Path(__file__).parents[2] / "conf" / "pipelines" / "temperatures.toml").read_text()
    (tmp_path / "temperatures.toml").write_text(good.replace("topic =", "topik ="))
    refused(
        [MERGE, "--mode", "batch", table, "127.0.0.1", "t"],
        2,
        f"{tmp_path}/temperatures.toml: unknown key 'source.topik'; did you mean 'topic'?",
        ALLUVIUM_PIPELINES=str(tmp_path),
    )


def test_an_unknown_environment(table: Path) -> None:
    refused(["submit/delta_reader.sh", "--env", "moon", table], 2, "no environment 'moon'", "local standalone")


def test_an_unknown_trigger(broker: Broker, topic: str, table: Path) -> None:
    command: list[str | Path] = [MERGE, "--mode", "stream", "--trigger", "often", table, broker.address, topic]
    refused(command, 2, "trigger 'often' is not known", "available-now")


def test_what_click_refuses_is_one_line_too(table: Path) -> None:
    refused([MERGE, "--mode", "moon", table, "127.0.0.1", "t"], 2, "Invalid value for '--mode'", "see --help")
    refused([MERGE, "--mode", "batch"], 2, "Missing argument 'DELTA_DIR'; see --help")


def test_maintenance_of_no_table(tmp_path: Path, table: Path) -> None:
    maintenance = "submit/maintenance.sh"
    refused([maintenance, "compact"], 2, "no table; say DELTA_DIR, or --pipeline")
    (tmp_path / "empty").mkdir()
    refused([maintenance, "checkpoint", tmp_path / "empty"], 2, "empty is not a Delta table", "submit/create_table.sh")
    refused([maintenance, "checkpoint", tmp_path], 2, f"{tmp_path} is not a Delta table", "a folder of its own")
    refused(
        [maintenance, "vacuum", "--retain", "7", table], 2, "--retain '7' is not understood; say whole hours or days"
    )
    refused([maintenance, "compact", "--closed-after", "0", table], 2, "duration '0' is not understood; say 90s, 30m")


def test_help_needs_no_spark() -> None:
    for script in (
        "temperatures_delta_processing",
        "delta_reader",
        "streaming_merge",
        "weather_producer",
        "epoch",
        "rewind",
        "quarantine",
        "maintenance",
        "create_table",
    ):
        done = run([f"submit/{script}.sh", "--help"])
        assert done.returncode == 0
        assert done.stdout.startswith(f"Usage: {script} ")
        assert complaints(done) == []
