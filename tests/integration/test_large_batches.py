"""One batch of a GiB of records, by the real job with the heap of conf/: many small records, and few large ones.

The third shape is what makes the Python process largest: as many bytes as it collects from Spark.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from common.engine.run_report import read_report
from kafka_docker.embedded.ports import free_port
from kafka_docker.embedded.spark_cluster import SparkCluster
from tests.support.broker import Broker
from tests.support.commands import ROOT, clean_environment, run
from tests.support.large import COLLECTED, FEW, MANY, Digest, Shape, digest_of, produce, rows_of, run_measured

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
PYTHON_MIB = 1024
SECONDS = 1500
PIPELINE = """
[source]
topic = "large"
columns = { id = "bigint", revision = "int", text = "string" }
max_records_per_batch = 3_000_000
[target]
keys = ["id"]
"""
DRIVERS = {
    "batch": ("--mode", "batch", "--once"),
    "stream": ("--mode", "stream"),
    "cluster": ("--mode", "batch", "--once", "--env", "standalone"),
}


@pytest.fixture(scope="module", params=[MANY, FEW, COLLECTED], ids=lambda shape: shape.name)
def shape(request: pytest.FixtureRequest) -> Shape:
    return request.param


@pytest.fixture(scope="module")
def topic(broker: Broker, shape: Shape) -> Iterator[str]:
    """A topic with all records of a shape: every id once."""
    name = broker.create_topic()
    produce(broker, name, shape.rows(1))
    yield name
    broker.delete_topic(name)


@pytest.fixture(scope="module")
def sent(shape: Shape) -> Digest:
    return digest_of(shape.rows(1))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    service = SparkCluster(home=tmp_path_factory.mktemp("cluster"), port=free_port())
    service.start()
    yield service
    service.stop()


@pytest.mark.parametrize("driver", DRIVERS)
def test_a_large_batch_is_settled_with_the_heap_of_conf(
    request: pytest.FixtureRequest, broker: Broker, topic: str, sent: Digest, tmp_path: Path, driver: str
) -> None:
    (tmp_path / "large.toml").write_text(PIPELINE)
    environment = {
        "ALLUVIUM_PIPELINES": str(tmp_path),
        "ALLUVIUM_LOG_DIR": str(tmp_path / "log"),
        "ALLUVIUM_REPORT_DIR": str(tmp_path / "reports"),
        "ALLUVIUM_SCRATCH_DIR": str(tmp_path / "scratch"),
        "ALLUVIUM_RUN_ID": "large",
    }
    table = tmp_path / "table"
    created = run([ROOT / "submit" / "create_table.sh", "large", table], environment=clean_environment(**environment))
    assert created.returncode == 0, created.stderr

    if driver == "cluster":
        cluster = request.getfixturevalue("cluster")
        environment |= {"ALLUVIUM_MASTER": cluster.url, "ALLUVIUM_SPARK_SECRET_FILE": str(cluster.secret_file)}
    job = ROOT / "submit" / "streaming_merge.sh"
    command = [job, *DRIVERS[driver], "--pipeline", "large", table, broker.address, topic]
    code, peaks = run_measured(command, environment, tmp_path / "output", SECONDS)
    assert code == 0, (tmp_path / "output").read_text()[-3000:]
    report = read_report(tmp_path / "reports" / "large.json")
    assert (report.batches, report.totals.merge) == (1, sent.rows)
    assert digest_of(rows_of(table)) == sent
    print(f"{peaks}, seconds of the stages: {report.seconds}")
    assert peaks.python < PYTHON_MIB
