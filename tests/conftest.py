"""What tests share: one Spark session, one real broker, topics of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from common.model.limits import Limits
from common.spark.small_queries import INTERPRETED
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from kafka_docker.embedded.registry import Registry
from tests.support.broker import Broker
from tests.support.commands import ROOT, jars, spark_properties
from tests.support.merges import CHOICES, MERGE
from tests.support.trial import Trial, load_trial_base


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    service = Kafka(home=tmp_path_factory.mktemp("kafka"), port=free_port())
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="session")
def broker(kafka: Kafka) -> Broker:
    return Broker(kafka.address)


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    service = Registry(home=tmp_path_factory.mktemp("registry"), port=free_port())
    service.start()
    yield service
    service.stop()


@pytest.fixture
def topic(broker: Broker) -> str:
    return broker.create_topic()


@pytest.fixture(scope="session")
def loaded(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return load_trial_base(spark, tmp_path_factory.mktemp("loaded"))


@pytest.fixture
def trial(spark: SparkSession, broker: Broker, topic: str, tmp_path: Path, loaded: Path) -> Trial:
    return Trial(spark, broker, topic, tmp_path, loaded)


@pytest.fixture(params=["fetched", "by spark"])
def reader(request: pytest.FixtureRequest, trial: Trial) -> None:
    """Who reads a few records: the driver's own consumer, or Spark, as it reads many."""
    if request.param == "by spark":
        trial.limits = Limits(fetched_records=0)


@pytest.fixture
def by_merge(trial: Trial) -> None:
    """Leaves each batch to Delta's MERGE."""
    trial.strategies = CHOICES[MERGE]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session that jobs get from conf/local.conf, inside this process."""
    work = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.appName("tests")
    for key, value in (spark_properties("local") | of_tests(work)).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def compiled(spark: SparkSession) -> Iterator[None]:
    """For what decides on values: by the code that users' jobs run."""
    for key in INTERPRETED:
        spark.conf.unset(key)
    yield
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)


def of_tests(work: Path) -> dict[str, str]:
    """The jars, and what makes a session of many short queries quick: one compiler tier, plans that are interpreted,
    one task a core, no UI.

    With one tier the JVM keeps room for 48 MiB of compiled code, which is full after some minutes: from then on it
    throws code away and compiles it again, a quarter of its time.
    """
    compiler = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
    log4j = f"-Dlog4j2.configurationFile=file:{ROOT}/conf/log4j2.properties -Dalluvium.log={work}/spark.log"
    return {
        "spark.jars": ",".join(map(str, jars("spark", "kernel"))),
        "spark.driver.extraJavaOptions": f"{compiler} -XX:+UseSerialGC -Xmn640m -Dalluvium.run=tests {log4j}",
        "spark.master": "local[2]",
        **INTERPRETED,
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": str(work),
    }
