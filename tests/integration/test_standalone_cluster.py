"""The embedded Spark cluster: a real master, two real workers, and a secret for who may use them."""

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from common import rest
from common.waiting import await_true, tries
from kafka_docker.embedded import process_table
from kafka_docker.embedded.ports import free_port, is_free
from kafka_docker.embedded.spark_cluster import SparkCluster, spark_home

JOB = """
import time
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:  # the driver counts too
    time.sleep(0.1)
print("rows:", spark.range(0, 1000, 1, 4).count())
spark.stop()
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    service = SparkCluster(home=tmp_path_factory.mktemp("cluster"), port=free_port())
    service.start()
    yield service
    service.stop()


def submission(cluster: SparkCluster, folder: Path, **properties: str) -> tuple[list[str], dict[str, str]]:
    """The command and the environment of a job that asks for both workers."""
    job = folder / "job.py"
    job.write_text(JOB)
    file = folder / "job.properties"
    common = {"spark.executor.memory": "512m", "spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1"}
    file.write_text("".join(f"{key} {value}\n" for key, value in (common | properties).items()))
    command = [
        str(spark_home() / "bin" / "spark-submit"),
        "--master",
        cluster.url,
        "--properties-file",
        str(file),
        str(job),
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    return command, kept | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}


def finished_executors(cluster: SparkCluster, worker: str) -> int:
    """A worker hears of the end of its executor a moment after the job has ended."""
    found = 0
    for _ in tries(30, pause=0.2):
        seen = rest.request(f"127.0.0.1:{cluster.ports[worker]}", "GET", "/json/").body
        if found := len(seen["finishedexecutors"]):
            break
    return found


def seen_by_master(cluster: SparkCluster) -> Any:
    return rest.request(f"127.0.0.1:{cluster.ports['ui']}", "GET", "/json/").body


def test_a_master_and_two_workers_are_alive(cluster: SparkCluster) -> None:
    workers = seen_by_master(cluster)["workers"]
    assert [(worker["state"], worker["cores"], worker["memory"]) for worker in workers] == [("ALIVE", 1, 1024)] * 2
    assert {worker["webuiaddress"].rpartition(":")[2] for worker in workers} == {
        str(cluster.ports["worker-1"]),
        str(cluster.ports["worker-2"]),
    }
    assert stat.S_IMODE(cluster.secret_file.stat().st_mode) == 0o600
    assert not cluster.start()


def test_a_job_with_the_secret_runs_on_both_workers(cluster: SparkCluster, tmp_path: Path) -> None:
    secret = cluster.secret_file.read_text()
    command, environment = submission(
        cluster, tmp_path, **{"spark.authenticate": "true", "spark.authenticate.secret": secret}
    )
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "rows: 1000" in done.stdout
    assert [finished_executors(cluster, worker) for worker in ("worker-1", "worker-2")] == [1, 1]


def test_a_job_without_the_secret_is_turned_away(cluster: SparkCluster, tmp_path: Path) -> None:
    before = known_applications(cluster)
    command, environment = submission(cluster, tmp_path)
    log, refusal = tmp_path / "job.log", "Failed to connect to master"
    with log.open("wb") as output, subprocess.Popen(command, env=environment, stdout=output, stderr=output) as job:
        try:
            # Spark itself gives up only after a minute.
            await_true(lambda: job.poll() is not None or refusal in log.read_text(), 90, pause=0.2)
        finally:
            job.kill()
    assert refusal in log.read_text(), log.read_text()[-3000:]
    assert known_applications(cluster) == before


def known_applications(cluster: SparkCluster) -> set[str]:
    seen = seen_by_master(cluster)
    return {application["id"] for application in [*seen["activeapps"], *seen["completedapps"]]}


def test_a_stopped_cluster_leaves_nothing_behind(cluster: SparkCluster) -> None:
    """Last in this file: the cluster is gone after it."""
    pids = [process.pid for process in cluster.processes]
    assert cluster.stop()
    assert [process_table.living(pid) for pid in pids if pid] == [None, None, None]
    assert all(is_free(port) for port in cluster.ports.values())
    assert not list(cluster.folder.glob("*.pid"))
