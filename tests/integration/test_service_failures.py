"""What goes wrong with a service ends in one line, and never in somebody else's process."""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import Locked
from kafka_docker.embedded import log_files, process_table
from kafka_docker.embedded.connect import Connect
from kafka_docker.embedded.errors import NotRunning, PortTaken, StartFailed
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port, is_free
from kafka_docker.embedded.postgres import Postgres
from kafka_docker.embedded.process import Command, Process
from kafka_docker.embedded.settings import ROOT
from tests.support.waiting import await_true

Run = Callable[..., "subprocess.CompletedProcess[str]"]
# A server that lives answers this with one byte, before anybody has logged in.
MAY_I_SPEAK_TLS = b"\0\0\0\x08\x04\xd2\x16\x2f"
SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def services(tmp_path: Path) -> Run:
    def run(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [ROOT / "kafka_docker" / "services", *arguments],
            env={"ALLUVIUM_SERVICES_DIR": str(tmp_path / "services")} | environment,
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is none of ours."""
    with subprocess.Popen(SLEEPER) as process:
        yield process
        process.kill()


@pytest.fixture
def postgres(tmp_path: Path) -> Iterator[Postgres]:
    service = Postgres(home=tmp_path / "services", port=free_port())
    yield service
    service.resume()
    service.remove()


def test_a_taken_port_is_named_with_its_holder_and_nothing_is_left(services: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        refused = services("start", "kafka", "--port", str(port))
    assert refused.returncode == 1
    (line,) = refused.stderr.splitlines()
    assert line.startswith(f"error: port {port}, which kafka needs, is taken by process {os.getpid()} (")
    assert list(tmp_path.iterdir()) == []


def test_a_further_port_that_is_taken_is_named_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        with pytest.raises(PortTaken, match=f"port {port}, which kafka needs"):
            Kafka(home=tmp_path, port=free_port(), ports={"controller": port}).start()


def test_an_environment_variable_moves_a_port(services: Run) -> None:
    said = services("status", ALLUVIUM_KAFKA_PORT="19092", ALLUVIUM_POSTGRES_LAKE_PORT="15434").stdout
    assert "127.0.0.1:19092" in said
    assert "127.0.0.1:15434" in said
    wrong = services("status", ALLUVIUM_KAFKA_PORT="soon")
    assert (wrong.returncode, wrong.stderr.splitlines()) == (
        2,
        ["error: ALLUVIUM_KAFKA_PORT=soon is not a port; set it to a number from 1 to 65535"],
    )


def test_without_java_the_remedy_is_said(services: Run) -> None:
    refused = services("start", "kafka", "--port", str(free_port()), JAVA_HOME="/nowhere")
    assert refused.returncode == 1
    assert refused.stderr.splitlines()[-1].startswith("error: no Java found (tried '/nowhere/bin/java'); install")


def test_a_folder_that_cannot_be_made_is_named(services: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file" / "services")
    refused = services("start", "kafka", "--port", str(free_port()), ALLUVIUM_SERVICES_DIR=folder)
    (line,) = refused.stderr.splitlines()
    assert refused.returncode == 1
    assert folder in line
    assert "ALLUVIUM_SERVICES_DIR" in line


@pytest.mark.parametrize(
    "arguments",
    [["logs", "kafka"], ["logs", "kafka", "--follow"], ["list-topics"], ["create-topic", "t"], ["delete-topic", "t"]],
    ids=" ".join,
)
def test_a_command_that_needs_a_running_service_says_so(services: Run, arguments: list[str]) -> None:
    refused = services(*arguments)
    assert (refused.returncode, refused.stderr) == (
        1,
        "error: kafka is not running; start it: kafka_docker/services start kafka\n",
    )


def test_stopping_what_does_not_run_is_no_error(services: Run, tmp_path: Path) -> None:
    assert services("stop").returncode == 0
    named = services("stop", "kafka")
    assert (named.returncode, named.stderr) == (0, "kafka: was not running\n")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_service_is_refused_with_the_known_ones(services: Run) -> None:
    refused = services("start", "kafak")
    assert refused.returncode == 2
    assert "'kafka', 'registry'" in refused.stderr


def test_connect_says_that_it_needs_a_broker(tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    with pytest.raises(NotRunning, match=f"connect needs kafka, and no broker answers at {nobody}"):
        Connect(home=tmp_path, port=free_port(), brokers=nobody).start()
    assert list(tmp_path.iterdir()) == []


def test_stop_leaves_a_process_alone_that_only_has_the_recorded_number(
    sleeper: "subprocess.Popen[bytes]", postgres: Postgres
) -> None:
    postgres.folder.mkdir(parents=True)
    record = {"pid": sleeper.pid, "identity": "an earlier process of this number"}
    (postgres.folder / "postgres-source.pid").write_text(json.dumps(record))
    assert not postgres.running
    assert not postgres.stop()
    postgres.kill()
    assert sleeper.poll() is None


@pytest.mark.parametrize("content", ["", "{}", '{"pid": "x", "identity": ""}', "[1]"])
def test_a_damaged_pid_file_is_a_stale_one(tmp_path: Path, content: str) -> None:
    (tmp_path / "it.pid").write_text(content)
    assert Process("it", tmp_path).pid is None


def test_a_service_that_crashed_starts_again_over_its_stale_pid_file(postgres: Postgres) -> None:
    postgres.start()
    postgres.run("CREATE TABLE city (name text); INSERT INTO city VALUES ('Bergen')")
    crashed = process_table.living(postgres.processes[0].pid or 0)
    assert crashed is not None
    for process in process_table.family(crashed):
        process.kill()
    await_true(lambda: not postgres.running, "its end", seconds=20)
    assert (postgres.folder / "postgres-source.pid").exists()
    assert postgres.start()
    assert postgres.run("SELECT name FROM city") == [("Bergen",)]


def test_a_start_that_fails_names_the_log_and_its_telling_line_and_leaves_no_process(postgres: Postgres) -> None:
    postgres.start()
    postgres.stop()
    configuration = (postgres.folder / "data").resolve() / "postgresql.conf"
    with configuration.open("a") as file:
        file.write("no_such_setting = 1\n")
    with pytest.raises(StartFailed) as failed:
        postgres.start()
    assert 'postgresql.conf" contains errors' in failed.value.message
    assert failed.value.remedy == f"see {postgres.processes[0].log}"
    assert not postgres.running
    assert not list(postgres.folder.glob("*.pid"))
    assert is_free(postgres.port)


def test_a_paused_service_is_silent_until_resumed_and_can_be_stopped(postgres: Postgres, services: Run) -> None:
    postgres.start()
    postgres.pause()
    with socket.create_connection(("127.0.0.1", postgres.port), timeout=2) as connection:
        connection.sendall(MAY_I_SPEAK_TLS)
        with pytest.raises(TimeoutError):
            connection.recv(1)
    assert not postgres.answers()
    postgres.resume()
    assert postgres.answers()
    postgres.pause()
    began = time.monotonic()
    assert postgres.stop()
    assert time.monotonic() - began < postgres.definition.stop_timeout_s


def test_who_does_not_listen_to_the_request_is_ended_by_force_with_its_children(tmp_path: Path) -> None:
    deaf = "trap '' TERM; sleep 600 & echo $!; wait; wait"
    process = Process("deaf", tmp_path)
    process.start(Command(argv=["/bin/sh", "-c", deaf]))
    await_true(lambda: process.log.read_text().strip() != "", "its child", seconds=20)
    child = int(process.log.read_text())
    assert process_table.living(child) is not None
    assert process.stop(signal.SIGTERM, timeout_s=0.5)
    assert process.pid is None
    assert process_table.living(child) is None


def test_a_started_process_outlives_the_command_that_started_it(services: Run, tmp_path: Path) -> None:
    service = Postgres(home=tmp_path / "services", port=free_port())
    try:
        started = services("start", "postgres-source", "--port", str(service.port))
        assert started.returncode == 0, started.stderr
        pid = Postgres(home=tmp_path / "services").processes[0].pid
        assert pid is not None
        assert os.getsid(pid) == pid
        assert services("stop", "postgres-source", "--delete-data").returncode == 0
        assert process_table.living(pid) is None
        assert not service.folder.exists()
    finally:
        service.remove()


def test_two_commands_do_not_work_on_one_service_at_once(postgres: Postgres) -> None:
    postgres.definition = replace(postgres.definition, ready_timeout_s=0, stop_timeout_s=1)
    postgres.folder.mkdir(parents=True)
    with (postgres.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(Locked, match="another command is still at work on postgres-source"):
            postgres.start()
    assert not postgres.running


def test_following_a_log_goes_on_across_a_restart_of_its_service(tmp_path: Path) -> None:
    log = tmp_path / "it.log"
    process = Process("it", tmp_path)
    log.write_text("before\n")
    lines = log_files.follow([log])
    writer = threading.Timer(0.5, lambda: process.start(Command(argv=["/bin/sh", "-c", "echo one; echo two"])))
    writer.start()
    assert [next(lines), next(lines)] == ["one", "two"]
    lines.close()
    writer.join()
    await_true(lambda: process.pid is None, "its end", seconds=20)
