"""Bad input: one line that names the thing and the remedy, the right code, nothing written.

Each kind of refusal comes once through its real script; the others come from the same commands in this process.
"""

import re
from pathlib import Path

import click
import pytest

from common.errors import AlluviumError
from kafka_docker.embedded.ports import free_port
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment, complaints, run
from tests.support.remedies import type_command

BASE_LOAD = "submit/temperatures_delta_processing.sh"
MERGE = "submit/streaming_merge.sh"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """What a job takes for a table as long as it has not looked inside."""
    log = tmp_path / "table" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").touch()
    return tmp_path / "table"


def refused(command: list[str | Path], code: int, *said: str) -> None:
    """By the script, as a user sees it."""
    done = run(command, environment=clean_environment())
    (line,) = complaints(done)
    assert line.startswith("error: ")
    for part in said:
        assert part in line
    assert done.returncode == code
    assert done.stdout == ""


def refused_here(command: list[str | Path], code: int, *said: str) -> None:
    """By the script's command in this process: what the script makes one line of."""
    with pytest.raises((AlluviumError, click.ClickException)) as caught:
        type_command(list(map(str, command)))
    error = caught.value
    line = error.format_message() if isinstance(error, click.ClickException) else str(error)
    assert "\n" not in line
    for part in said:
        assert part in line
    assert error.exit_code == code


def test_a_missing_input_folder(tmp_path: Path) -> None:
    refused(
        [BASE_LOAD, tmp_path / "nowhere", tmp_path / "out"], 2, f"no input folder {tmp_path}/nowhere", "give the folder"
    )
    assert not (tmp_path / "out").exists()


def test_a_folder_with_no_parquet(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    refused_here(
        [BASE_LOAD, tmp_path / "in", tmp_path / "out"], 2, f"no parquet file in {tmp_path}/in", "datasets.temperatures"
    )
    assert not (tmp_path / "out").exists()


def test_a_base_load_onto_an_existing_table(tmp_path: Path, table: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").touch()
    refused_here([BASE_LOAD, tmp_path / "in", table], 2, f"{table} is a Delta table already", "--overwrite")


def test_a_base_load_into_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").touch()
    refused_here([BASE_LOAD, tmp_path / "in", tmp_path], 2, f"{tmp_path} is not empty and not a Delta table")


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
    refused_here(command, 2, f"no topic 'no-such-topic' on {broker.address}", "create-topic no-such-topic")
    assert not (table / "_alluvium").exists()


def test_a_folder_that_is_not_a_delta_table(tmp_path: Path) -> None:
    refused_here(
        [MERGE, "--mode", "batch", tmp_path, "127.0.0.1", "t"], 2, f"{tmp_path} is not a Delta table", BASE_LOAD
    )
    refused_here(["submit/delta_reader.sh", tmp_path / "nowhere"], 2, f"{tmp_path}/nowhere does not exist", BASE_LOAD)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_pipeline_key(tmp_path: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = (Path(__file__).parents[2] / "conf" / "pipelines" / "temperatures.toml").read_text()
    (tmp_path / "temperatures.toml").write_text(good.replace("topic =", "topik ="))
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path))
    refused_here(
        [MERGE, "--mode", "batch", table, "127.0.0.1", "t"],
        2,
        f"{tmp_path}/temperatures.toml: unknown key 'source.topik'; did you mean 'topic'?",
    )


def test_an_unknown_environment(table: Path) -> None:
    refused(["submit/delta_reader.sh", "--env", "moon", table], 2, "no environment 'moon'", "local standalone")


def test_an_unknown_trigger(broker: Broker, topic: str, table: Path) -> None:
    command: list[str | Path] = [MERGE, "--mode", "stream", "--trigger", "often", table, broker.address, topic]
    refused_here(command, 2, "trigger 'often' is not known", "available-now")


def test_what_click_refuses_is_one_line_too(table: Path) -> None:
    refused_here([MERGE, "--mode", "moon", table, "127.0.0.1", "t"], 2, "Invalid value for '--mode'")
    refused([MERGE, "--mode", "batch"], 2, "Missing argument 'DELTA_DIR'; see --help")


def test_maintenance_of_no_table(tmp_path: Path, table: Path) -> None:
    maintenance = "submit/maintenance.sh"
    refused_here([maintenance, "compact"], 2, "no table; say DELTA_DIR, or --pipeline")
    (tmp_path / "empty").mkdir()
    refused_here(
        [maintenance, "checkpoint", tmp_path / "empty"], 2, "empty is not a Delta table", "submit/create_table.sh"
    )
    refused_here([maintenance, "checkpoint", tmp_path], 2, f"{tmp_path} is not a Delta table", "a folder of its own")
    refused_here(
        [maintenance, "vacuum", "--retain", "7", table], 2, "--retain '7' is not understood; say whole hours or days"
    )
    refused_here(
        [maintenance, "compact", "--closed-after", "0", table], 2, "duration '0' is not understood; say 90s, 30m"
    )


def test_help_needs_no_spark(capsys: pytest.CaptureFixture[str]) -> None:
    """By a script; and by each job, with the script that starts it by its name."""
    done = run([MERGE, "--help"])
    assert (done.returncode, complaints(done)) == (0, [])
    assert done.stdout.startswith("Usage: streaming_merge ")
    for script in (ROOT / "submit").glob("*.sh"):
        started = re.search(r'/submit\.sh" (?:spark|spark-short|python) (\w+) "\$@"$', script.read_text())
        if started is None or script.stem == "class_archive":
            continue
        assert started[1] == script.stem
        type_command([f"submit/{script.name}", "--help"])
        assert capsys.readouterr().out.startswith(f"Usage: {script.stem} ")
