"""The built zip through spark-submit: as cron runs it, beside another job, and on a real cluster."""

import json
import os
import re
import signal
import stat
import subprocess
from pathlib import Path

import psutil
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from common.engine.run_report import read_report
from common.operations.base_load import load_base
from common.settings.load import read_pipeline
from common.settings.locations import location
from kafka_docker.embedded.ports import free_port
from kafka_docker.embedded.spark_cluster import SparkCluster
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment, complaints, run
from tests.support.frames import frame
from tests.support.waiting import await_file

HOUR = {"latitude": 51.5, "longitude": -0.5, "time": "2022-12-31T23:00", "temperature_2m": 1.5}


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Path:
    """A temperatures table of one hour."""
    rows = frame(spark, [tuple(HOUR.values())], "latitude double, longitude double, time string, temperature_2m double")
    rows.write.parquet(str(tmp_path / "base"))
    load_base(
        spark,
        read_pipeline("temperatures"),
        location(f"{tmp_path}/base"),
        location(f"{tmp_path}/table"),
        overwrite=False,
    )
    return tmp_path / "table"


def event(**changed: float | str) -> tuple[bytes, bytes]:
    content = HOUR | changed
    key = {name: content[name] for name in ("latitude", "longitude", "time")}
    return json.dumps(key).encode(), json.dumps(content).encode()


def hours(table: Path) -> dict[str, float]:
    """Time and temperature, read without Spark."""
    rows = DeltaTable(table).to_pyarrow_table(columns=["time", "temperature_2m"]).to_pylist()
    return {row["time"]: row["temperature_2m"] for row in rows}


def test_a_job_runs_as_cron_runs_it(table: Path, broker: Broker, topic: str, tmp_path: Path) -> None:
    broker.produce(topic, [event(temperature_2m=2.5), event(time="2023-01-01T00:00", temperature_2m=3.5)])
    command = f"{ROOT}/submit/streaming_merge.sh --mode batch --once {table} {broker.address} {topic}"
    done = run(
        [
            "/usr/bin/env",
            "-i",
            f"ALLUVIUM_LOG_DIR={tmp_path}/log",
            f"ALLUVIUM_REPORT_DIR={tmp_path}/reports",
            f"ALLUVIUM_SCRATCH_DIR={tmp_path}/scratch",
            "/bin/sh",
            "-c",
            command,
        ],
        environment={},
    )
    assert done.returncode == 0, done.stderr
    assert "Total number of rows :2" in done.stdout.splitlines()
    assert hours(table) == {"2022-12-31T23:00": 2.5, "2023-01-01T00:00": 3.5}
    logged = [json.loads(line) for line in complaints(done)]
    assert [line["event"] for line in logged] == ["settled", "report"]
    assert {"run_id", "job", "timestamp", "level"} <= logged[0].keys()
    report = read_report(Path(logged[1]["path"]))
    assert (report.run_id, report.mode, report.state, report.batches) == (logged[0]["run_id"], "batch", "done", 1)
    private = [*(tmp_path / "log").iterdir(), *(tmp_path / "reports").iterdir()]
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in private} == {
        "streaming_merge.log": 0o600,
        "streaming_merge-spark.log": 0o600,
        f"{report.run_id}.json": 0o600,
    }
    (scratch,) = (tmp_path / "scratch").iterdir()
    assert [path.name for path in scratch.iterdir()] == ["lock"]


def test_34_a_second_job_on_a_table_gives_up_at_once_even_while_the_owner_is_stopped(
    table: Path, broker: Broker, topic: str, tmp_path: Path
) -> None:
    broker.produce(topic, [event(time="2023-01-01T00:00", temperature_2m=3.5)])
    command = [f"{ROOT}/submit/streaming_merge.sh", "--mode", "batch", "--once", str(table), broker.address, topic]
    named = {"ALLUVIUM_RUN_ID": "the-owner", "ALLUVIUM_FAULT": "planned+", "ALLUVIUM_FAULT_FILE": f"{tmp_path}/there"}
    owner = subprocess.Popen(
        command,
        env=clean_environment(**named),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        await_file(tmp_path / "there")
        os.killpg(owner.pid, signal.SIGSTOP)
        process = (tmp_path / "there").read_text()
        done = run(command)
        (line,) = complaints(done)
        assert done.returncode == 75
        assert re.search(rf"{table} is in use by the-owner, process {process} on \S+, for \d+ s; wait for it", line)
        assert psutil.Process(int(process)).status() == psutil.STATUS_STOPPED
        assert hours(table) == {"2022-12-31T23:00": 1.5}
        os.killpg(owner.pid, signal.SIGCONT)
        _, complained = owner.communicate(timeout=120)
    finally:
        if owner.poll() is None:
            os.killpg(owner.pid, signal.SIGKILL)
            owner.wait()
    assert owner.returncode == 0, complained
    assert hours(table) == {"2022-12-31T23:00": 1.5, "2023-01-01T00:00": 3.5}


@pytest.mark.long
def test_a_merge_on_a_standalone_cluster(table: Path, broker: Broker, topic: str, tmp_path: Path) -> None:
    broker.produce(topic, [event(time="2023-01-01T00:00", temperature_2m=3.5)])
    cluster = SparkCluster(home=tmp_path / "cluster", port=free_port())
    cluster.start()
    try:
        environment = clean_environment(
            ALLUVIUM_MASTER=cluster.url, ALLUVIUM_SPARK_SECRET_FILE=str(cluster.secret_file)
        )
        command = ["submit/streaming_merge.sh", "--env", "standalone", "--mode", "stream", table, broker.address, topic]
        done = run(command, environment=environment)
        assert done.returncode == 0, done.stderr
        assert executors_ran(cluster.folder)
    finally:
        cluster.stop()
    assert hours(table) == {"2022-12-31T23:00": 1.5, "2023-01-01T00:00": 3.5}


def executors_ran(folder: Path) -> bool:
    """Each worker keeps the output of the executors it started."""
    return any(folder.glob("worker-*/app-*/*/stderr"))
