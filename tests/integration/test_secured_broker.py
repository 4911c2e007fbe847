"""Row 37: a broker that asks who you are. Right settings work, wrong ones end at once with the cause."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from deltalake import DeltaTable
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from common.kafka.topic import TopicClient
from common.model.offsets import Plan
from common.operations.base_load import load_base
from common.settings.kafka import Kafka as Settings
from common.settings.kafka_security import access
from common.settings.load import read_pipeline
from common.settings.locations import location
from common.spark.source import read_range, read_stream
from kafka_docker.embedded import process_table
from kafka_docker.embedded.kafka import Kafka
from tests.support.broker import Broker
from tests.support.certificates import Authority
from tests.support.commands import ROOT, clean_environment, complaints
from tests.support.frames import frame
from tests.support.partitions import of_topic
from tests.support.secured import CANARY, PASSWORD, USER, admit_by_scram, secured_kafka
from tests.support.trial import Trial, event, pipeline

# What the row promises of every refusal.
BOUND_SECONDS = 30
# As a key of an event.
ASKS_FOR_IT = "${env:KAFKA_PASSWORD}"
BASE = {(1, "a", 1.0), (2, "a", 2.0)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("secured")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


@pytest.fixture(scope="module")
def kafka(folder: Path, authority: Authority) -> Iterator[Kafka]:
    service = secured_kafka(folder, authority)
    service.start()
    admit_by_scram(service.address)
    yield service
    service.stop()


@pytest.fixture
def broker(kafka: Kafka) -> Broker:
    """By its open listener, for what a test does itself."""
    return Broker(kafka.address)


@pytest.fixture(scope="module")
def password_file(folder: Path) -> Path:
    path = folder / "password"
    path.write_text(f"{PASSWORD}\n")
    path.chmod(0o600)
    return path


@pytest.fixture
def right(authority: Authority, password_file: Path) -> dict[str, str]:
    return {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_username": USER,
        "sasl_password": f"file:{password_file}",
        "ssl_ca": str(authority.ca),
    }


def secured(settings: dict[str, str], topic: str) -> Any:
    source = {"topic": topic, "columns": {"id": "bigint", "part": "string", "degrees": "double"}, "kafka": settings}
    return pipeline(topic, source=source)


def test_37_a_stream_by_password(
    trial: Trial, kafka: Kafka, right: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", PASSWORD)
    settings = right | {"sasl_mechanism": "PLAIN", "sasl_password": "env:KAFKA_PASSWORD"}
    trial.pipeline = secured(settings, trial.topic)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    trial.broker.address = kafka.address_of("SASL_SSL")
    trial.run("stream")
    assert trial.rows() == BASE | {(3, "b", 3.0)}
    assert len(trial.quarantined()) == 1


def test_37_a_batch_by_certificate(trial: Trial, kafka: Kafka, authority: Authority) -> None:
    certificate, key = authority.issue("client")
    trial.pipeline = secured(
        {
            "security_protocol": "SSL",
            "ssl_ca": str(authority.ca),
            "ssl_certificate": str(certificate),
            "ssl_key": f"file:{key}",
        },
        trial.topic,
    )
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.broker.address = kafka.address_of("SSL")
    trial.run("batch")
    assert trial.rows() == BASE | {(3, "b", 3.0)}


@pytest.fixture
def admitted(kafka: Kafka, topic: str, authority: Authority, right: dict[str, str], folder: Path) -> TopicClient:
    """By everything that there is: a password, and a certificate whose key is a secret too."""
    certificate, key = authority.issue("holder")
    settings = Settings(**right, ssl_certificate=str(certificate), ssl_key=f"file:{key}")
    return TopicClient(kafka.address_of("SASL_SSL"), topic, access=access(settings))


def shows_a_secret(text: str, topic: TopicClient) -> bool:
    key_lines = topic.access.spark["kafka.ssl.keystore.key"].splitlines()
    return CANARY in text or any(line in text for line in key_lines[1:-1])


def test_37_no_plan_shows_a_secret(
    spark: SparkSession, admitted: TopicClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shows_a_secret(str(admitted.access.spark), admitted)
    read_range(spark, admitted, Plan(*[of_topic(admitted.names[0], {0: 0})] * 2)).explain(mode="extended")
    read_stream(spark, admitted, of_topic(admitted.names[0], {0: 0, 1: 0, 2: 0}), 10).explain(extended=True)
    said = capsys.readouterr().out
    assert "KafkaRelation" in said
    assert "StreamingRelation" in said
    assert not shows_a_secret(said, admitted)


def test_37_a_stream_that_fails_does_not_show_a_secret(
    spark: SparkSession, broker: Broker, admitted: TopicClient, tmp_path: Path
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("planted")

    broker.produce(admitted.names[0], [event(3, "b", 3.0)])
    writer = read_stream(spark, admitted, of_topic(admitted.names[0], {0: 0, 1: 0, 2: 0}), 10).writeStream.foreachBatch(
        fail
    )
    query = writer.trigger(availableNow=True).option("checkpointLocation", str(tmp_path)).start()
    with pytest.raises(StreamingQueryException, match="planted") as caught:
        query.awaitTermination()
    assert not shows_a_secret(str(caught.value), admitted)


def pipelines_with(folder: Path, settings: dict[str, str]) -> Path:
    """conf/pipelines of a user: the temperatures pipeline on a cluster with these settings."""
    base = (ROOT / "conf" / "pipelines" / "temperatures.toml").read_text()
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    path = folder / "pipelines"
    path.mkdir()
    (path / "temperatures.toml").write_text(f"{base}\n[source.kafka]\n{table}" if settings else base)
    return path


def watched(command: list[str | Path], environment: dict[str, str]) -> tuple[subprocess.CompletedProcess[str], str]:
    """The command's end, and every command line that its processes had while it ran."""
    job = subprocess.Popen(
        [str(part) for part in command],
        cwd=ROOT,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    seen = ""
    with job:
        while job.poll() is None:
            if (process := process_table.living(job.pid)) is not None:
                seen += "".join(command_line(each) for each in process_table.family(process))
            time.sleep(0.5)
        out, err = job.communicate()
    return subprocess.CompletedProcess(command, job.returncode, out, err), seen


def command_line(process: psutil.Process) -> str:
    try:
        return "\0".join(process.cmdline())
    except psutil.Error:
        return ""


def files_with_the_canary(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_37_the_real_job_by_scram_leaves_the_password_nowhere(
    temperatures: Path, broker: Broker, topic: str, kafka: Kafka, right: dict[str, str], tmp_path: Path
) -> None:
    """Also where a producer asks for it by a key, and Delta's MERGE writes its condition into the table's log."""
    hour = {"latitude": 51.5, "longitude": -0.5, "time": "2023-01-01T00:00", "temperature_2m": 3.5}
    hours = [hour, hour | {"time": ASKS_FOR_IT}]
    broker.produce(topic, [*((b"k", json.dumps(each).encode()) for each in hours), (b"x", b"not json")], partition=0)
    (tmp_path / "events").mkdir()
    environment = clean_environment(
        KAFKA_PASSWORD=PASSWORD,
        ALLUVIUM_PIPELINES=str(pipelines_with(tmp_path, right)),
        ALLUVIUM_LOG_DIR=str(tmp_path / "log"),
        ALLUVIUM_REPORT_DIR=str(tmp_path / "reports"),
        SPARK_SUBMIT_OPTS=f"-Dspark.eventLog.enabled=true -Dspark.eventLog.compress=false "
        f"-Dspark.eventLog.dir=file:{tmp_path}/events",
    )
    job = ["submit/streaming_merge.sh", "--mode", "batch", "--once"]
    done, command_lines = watched([*job, temperatures, kafka.address_of("SASL_SSL"), topic], environment)
    assert done.returncode == 0, done.stderr
    assert "Total number of rows :3" in done.stdout.splitlines()
    table = DeltaTable(temperatures)
    assert "MERGE" in [commit["operation"] for commit in table.history()]
    found = table.to_pyarrow_table().select(["time", "temperature_2m"]).to_pylist()
    assert sorted(row["temperature_2m"] for row in found) == [1.5, 3.5, 3.5]
    assert {"time": ASKS_FOR_IT, "temperature_2m": 3.5} in found
    assert any((tmp_path / "events").iterdir())
    assert any((tmp_path / "reports").iterdir())
    assert (tmp_path / "table_quarantine" / "_delta_log").is_dir()
    assert "streaming_merge.py" in command_lines
    assert CANARY not in done.stdout + done.stderr + command_lines
    assert files_with_the_canary(tmp_path) == []


@pytest.fixture
def temperatures(spark: SparkSession, tmp_path: Path) -> Path:
    """A temperatures table of two hours, as the base load leaves it. Its change feed is only for Delta to write."""
    rows = [(51.5, -0.5, time, 1.5) for time in ("2022-12-31T23:00", ASKS_FOR_IT)]
    schema = "latitude double, longitude double, time string, temperature_2m double"
    frame(spark, rows, schema).write.parquet(str(tmp_path / "base"))
    source, table = location(f"{tmp_path}/base"), location(f"{tmp_path}/table")
    load_base(spark, read_pipeline("temperatures"), source, table, overwrite=False)
    spark.sql(f"ALTER TABLE delta.`{table.uri}` SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    return tmp_path / "table"


def refusal(folder: Path, address: str, topic: str, settings: dict[str, str], **environment: str) -> tuple[int, str]:
    """How the job ends before Spark starts: its code and its one line. No file says the password."""
    log = folder / "table" / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").touch()
    done = subprocess.run(
        ["submit/submit.sh", "python", "streaming_merge", "--mode", "batch", folder / "table", address, topic],
        cwd=ROOT,
        env=clean_environment(
            ALLUVIUM_PIPELINES=str(pipelines_with(folder, settings)),
            ALLUVIUM_LOG_DIR=str(folder / "log"),
            **environment,
        ),
        capture_output=True,
        text=True,
        timeout=BOUND_SECONDS,
        check=False,
    )
    (line,) = complaints(done)
    assert done.stdout == ""
    assert CANARY not in line
    assert files_with_the_canary(folder / "log") == []
    assert not (folder / "table" / "_alluvium").exists()
    return done.returncode, line


def test_37_the_wrong_authority(tmp_path: Path, folder: Path, kafka: Kafka, topic: str, right: dict[str, str]) -> None:
    address = kafka.address_of("SASL_SSL")
    code, line = refusal(tmp_path, address, topic, right | {"ssl_ca": str(Authority(folder, "stranger").ca)})
    assert code == 2
    assert f"the certificate of the broker {address} is not accepted" in line
    assert "set ssl_ca in [source.kafka] to the authority that signed it" in line


def test_37_the_wrong_name(tmp_path: Path, kafka: Kafka, topic: str, right: dict[str, str]) -> None:
    address = kafka.address_of("SASL_SSL").replace("127.0.0.1", "localhost")
    code, line = refusal(tmp_path, address, topic, right)
    assert code == 2
    assert f"the certificate of the broker {address} is not accepted" in line
    assert "certificate is not valid for 'localhost'" in line
    assert "give the brokers by a name that their certificate holds" in line


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_37_the_wrong_password(tmp_path: Path, kafka: Kafka, topic: str, right: dict[str, str], mechanism: str) -> None:
    address = kafka.address_of("SASL_SSL")
    settings = right | {"sasl_mechanism": mechanism, "sasl_password": "env:KAFKA_PASSWORD"}
    code, line = refusal(tmp_path, address, topic, settings, KAFKA_PASSWORD=f"{CANARY}-mistyped")
    assert code == 2
    assert f"the broker {address} does not let us in (SASL authentication error" in line
    assert "correct sasl_mechanism, sasl_username and sasl_password in [source.kafka]" in line


def test_37_plain_text_to_a_tls_port(tmp_path: Path, kafka: Kafka, topic: str) -> None:
    address = kafka.address_of("SASL_SSL")
    code, line = refusal(tmp_path, address, topic, {})
    assert code == 2
    assert f"the broker {address} speaks TLS, and security_protocol is PLAINTEXT" in line
    assert "set security_protocol in [source.kafka] to SASL_SSL" in line


def test_37_tls_to_a_plain_text_port(tmp_path: Path, kafka: Kafka, topic: str, right: dict[str, str]) -> None:
    code, line = refusal(tmp_path, kafka.address, topic, right)
    assert code == 2
    assert f"the broker {kafka.address} does not speak TLS, and security_protocol is SASL_SSL" in line
    assert "set security_protocol in [source.kafka] to PLAINTEXT" in line


def test_37_a_mechanism_that_is_not_offered_and_none_at_all(
    tmp_path: Path, kafka: Kafka, topic: str, right: dict[str, str]
) -> None:
    address = kafka.address_of("SASL_SSL")
    code, line = refusal(tmp_path / "a", address, topic, right | {"sasl_mechanism": "SCRAM-SHA-256"})
    assert code == 2
    assert f"the broker {address} does not offer SCRAM-SHA-256" in line
    assert "PLAIN, SCRAM-SHA-512" in line
    without = {"security_protocol": "SSL", "ssl_ca": right["ssl_ca"]}
    code, line = refusal(tmp_path / "b", address, topic, without)
    assert code == 2
    assert f"the broker {address} wants SASL, and security_protocol is SSL" in line


def test_37_no_certificate_where_one_is_wanted(tmp_path: Path, kafka: Kafka, topic: str, right: dict[str, str]) -> None:
    settings = {"security_protocol": "SSL", "ssl_ca": right["ssl_ca"]}
    code, line = refusal(tmp_path, kafka.address_of("SSL"), topic, settings)
    assert code == 2
    assert "correct ssl_ca, ssl_certificate and ssl_key in [source.kafka]" in line


def test_37_a_secret_that_was_written_down_is_not_repeated(
    tmp_path: Path, kafka: Kafka, topic: str, right: dict[str, str]
) -> None:
    """Neither the value in the file, nor one that is refused after it was read: traces have no local variables."""
    address = kafka.address_of("SASL_SSL")
    code, line = refusal(tmp_path / "a", address, topic, right | {"sasl_password": CANARY})
    assert code == 2
    assert "write env:NAME or file:PATH" in line
    settings = right | {"sasl_password": "env:KAFKA_PASSWORD"}
    code, line = refusal(tmp_path / "b", address, topic, settings, KAFKA_PASSWORD=f"{CANARY}\n{CANARY}")
    assert code == 2
    assert "the password env:KAFKA_PASSWORD has more than one line" in line
