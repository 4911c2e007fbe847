"""Every embedded service, for real: it starts, does what it is there for, and leaves nothing behind."""

import json
import os
import socket
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.schema_registry.error import SchemaRegistryError
from confluent_kafka.serialization import MessageField, SerializationContext
from psycopg.errors import UndefinedColumn

from common import rest
from common.waiting import tries
from kafka_docker.embedded import broker
from kafka_docker.embedded.connect import Connect
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port, is_free
from kafka_docker.embedded.postgres import Postgres
from kafka_docker.embedded.registry import Registry
from kafka_docker.embedded.settings import ROOT
from tests.support.waiting import await_true

SERVICES = ROOT / "kafka_docker" / "services"
RATING = {
    "type": "record",
    "name": "Rating",
    "fields": [{"name": "event_id", "type": "string"}, {"name": "rating", "type": "int"}],
}


@pytest.fixture
def services(tmp_path: Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """The command line, from a folder that is not ours and with next to no environment."""

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        kept = {name: os.environ[name] for name in ("JAVA_HOME", "PATH") if name in os.environ}
        return subprocess.run(
            [SERVICES, *arguments],
            env=kept | {"ALLUVIUM_SERVICES_DIR": str(tmp_path / "services")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def processes_naming(folder: Path) -> list[int]:
    """Processes with the folder in their command line."""
    found = psutil.process_iter(["cmdline"])
    return [process.pid for process in found if str(folder) in " ".join(process.info["cmdline"] or [])]


def consumed(address: str, topic: str, count: int, timeout_s: float = 60) -> list[tuple[bytes | None, bytes | None]]:
    consumer = Consumer({"bootstrap.servers": address, "group.id": "test", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = []
    for _ in tries(timeout_s, pause=0):
        message = consumer.poll(0.5)
        if message is not None and message.error() is None:
            found.append((message.key(), message.value()))
        if len(found) == count:
            break
    consumer.close()
    return found


def test_a_broker_from_first_start_to_last_stop(
    tmp_path: Path, services: Callable[..., "subprocess.CompletedProcess[str]"]
) -> None:
    port = free_port()
    started = services("start", "kafka", "--port", str(port))
    assert (started.returncode, started.stdout) == (0, ""), started.stderr
    assert f"kafka: ready at 127.0.0.1:{port}" in started.stderr
    try:
        again = services("start", "kafka")
        assert (again.returncode, again.stderr) == (0, f"kafka: already running at 127.0.0.1:{port}\n")
        other_port = services("start", "kafka", "--port", str(free_port()))
        assert other_port.returncode == 1
        assert f"on port {port}" in other_port.stderr
        assert "running" in services("status").stdout.splitlines()[0]

        created = services("create-topic", "weather", "--partitions", "2", "--config", "retention.ms=-1")
        assert created.returncode == 0, created.stderr
        assert services("create-topic", "weather").returncode == 2
        assert services("create-topic", "weather", "--if-not-exists").returncode == 0
        assert services("list-topics").stdout == "weather\t2\n"

        producer = Producer({"bootstrap.servers": f"127.0.0.1:{port}"})
        producer.produce("weather", key=b"Bergen", value=b"7.5")
        assert producer.flush(20) == 0
        assert consumed(f"127.0.0.1:{port}", "weather", 1) == [(b"Bergen", b"7.5")]

        deleted = services("delete-topic", "weather")
        assert (deleted.returncode, services("list-topics").stdout) == (0, "")
        assert services("delete-topic", "weather").returncode == 2
        assert "Kafka Server started" in services("logs", "kafka", "--lines", "5").stdout
    finally:
        stopped = services("stop")
    assert (stopped.returncode, stopped.stderr) == (0, "kafka: stopped\n")
    assert processes_naming(tmp_path) == []
    assert is_free(port)
    assert not list((tmp_path / "services" / "kafka").glob("*.pid"))
    assert "stopped" in services("status").stdout.splitlines()[0]


def test_a_broker_keeps_its_records_when_it_is_killed_and_moved(tmp_path: Path) -> None:
    before = Kafka(home=tmp_path, port=free_port())
    before.start()
    try:
        broker.create_topic(before.address, "weather", partitions=1, config={}, if_not_exists=False)
        producer = Producer({"bootstrap.servers": before.address, "enable.idempotence": True})
        producer.produce("weather", value=b"7.5")
        assert producer.flush(20) == 0
    finally:
        before.kill()
    assert processes_naming(tmp_path) == []
    after = Kafka(home=tmp_path, port=free_port())
    after.start()
    try:
        assert consumed(after.address, "weather", 1) == [(None, b"7.5")]
    finally:
        after.stop()


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    service = Registry(home=tmp_path, port=free_port())
    service.start()
    yield service
    service.stop()


def test_a_registry_serves_avro_and_keeps_its_schemas(registry: Registry) -> None:
    client = SchemaRegistryClient({"url": registry.url})
    context = SerializationContext("ratings", MessageField.VALUE)
    rating = {"event_id": "e-1", "rating": 4}
    encoded = AvroSerializer(client, json.dumps(RATING))(rating, context)
    assert encoded is not None
    assert AvroDeserializer(client)(encoded, context) == rating

    without_default = RATING | {"fields": [*RATING["fields"], {"name": "user", "type": "string"}]}
    with pytest.raises(SchemaRegistryError) as refused:
        client.register_schema("ratings-value", Schema(json.dumps(without_default), "AVRO"))
    assert refused.value.http_status_code == 409

    registry.stop()
    registry.start()
    assert AvroDeserializer(SchemaRegistryClient({"url": registry.url}))(encoded, context) == rating


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    service = Postgres(home=tmp_path_factory.mktemp("postgres"), port=free_port())
    service.start()
    yield service
    service.remove()


def test_a_database_is_ready_for_change_capture(postgres: Postgres) -> None:
    assert postgres.run("SHOW wal_level") == [("logical",)]
    assert postgres.run("SELECT current_user, current_database()") == [("alluvium", "source")]
    postgres.run("CREATE TABLE place (name text, note text); INSERT INTO place VALUES ('Tromsø', NULL), ('Bergen', '')")
    assert postgres.run("SELECT name, note FROM place ORDER BY name") == [("Bergen", ""), ("Tromsø", None)]
    assert postgres.run("SELECT 1; SELECT 2.5::float8, true") == [(1,), (2.5, True)]
    with pytest.raises(UndefinedColumn):
        postgres.run("SELECT no_such_column FROM place")


def test_a_database_that_says_nothing_is_not_waited_for_beyond_the_bound(postgres: Postgres) -> None:
    with pytest.raises(psycopg.OperationalError, match="connection"):
        postgres.run("SELECT pg_sleep(20)", timeout_s=2)


def test_a_database_wants_its_password_which_only_its_owner_can_read(postgres: Postgres) -> None:
    assert stat.S_IMODE(postgres.password_file.stat().st_mode) == 0o600
    password = postgres.password_file.read_text()
    try:
        postgres.password_file.write_text("guess")
        assert not postgres.answers()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            postgres.run("SELECT 1")
        postgres.password_file.unlink()
        assert not postgres.answers()
    finally:
        postgres.password_file.touch(0o600)
        postgres.password_file.write_text(password)


def test_a_database_keeps_its_rows_and_is_gone_when_removed(tmp_path: Path) -> None:
    postgres = Postgres(home=tmp_path, port=free_port(), name="postgres-target")
    postgres.start()
    data = (postgres.folder / "data").resolve()
    try:
        postgres.run("CREATE TABLE city (name text); INSERT INTO city VALUES ('Bergen')")
        postgres.stop()
        assert not postgres.running
        postgres.start()
        assert postgres.run("SELECT name FROM city") == [("Bergen",)]
    finally:
        postgres.remove()
    assert processes_naming(data) == []
    assert not data.exists()
    assert not postgres.folder.exists()


@pytest.mark.slow
def test_a_row_travels_from_the_database_through_debezium_to_kafka(kafka: Kafka, postgres: Postgres) -> None:
    postgres.run("CREATE TABLE city (id int PRIMARY KEY, name text); INSERT INTO city VALUES (1, 'Bergen')")
    # Connect reads passwords below its own home only.
    connect = Connect(home=postgres.home, port=free_port(), brokers=kafka.address)
    connect.start()
    try:
        created = rest.request(connect.address, "POST", "/connectors", connector(postgres), timeout_s=60)
        assert created.status == 201, created
        assert postgres.password not in json.dumps(rest.request(connect.address, "GET", "/connectors/cities").body)
        topic = "cities.public.city"
        await_true(lambda: topic in broker.topics(kafka.address), "Debezium's topic", pause=0.2)
        postgres.run("UPDATE city SET name = 'Tromsø' WHERE id = 1")
        changes = [json.loads(value)["payload"] for _, value in consumed(kafka.address, topic, 2) if value]
    finally:
        connect.stop()
    assert [(change["op"], change["after"]) for change in changes] == [
        ("r", {"id": 1, "name": "Bergen"}),
        ("u", {"id": 1, "name": "Tromsø"}),
    ]
    assert processes_naming(connect.folder) == []


def connector(postgres: Postgres) -> dict[str, object]:
    """Kafka creates no topic by itself here: the connector says how its topics are to be."""
    return {
        "name": "cities",
        "config": {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "plugin.name": "pgoutput",
            "topic.prefix": "cities",
            "table.include.list": "public.city",
            "database.hostname": "127.0.0.1",
            "database.port": postgres.port,
            "database.user": postgres.user,
            "database.password": f"${{directory:{postgres.folder}:password}}",
            "database.dbname": postgres.database,
            "topic.creation.default.partitions": 1,
            "topic.creation.default.replication.factor": 1,
        },
    }


def test_services_of_two_homes_live_side_by_side(tmp_path: Path) -> None:
    homes = [Postgres(home=tmp_path / name, port=free_port()) for name in ("one", "two")]
    try:
        for each in homes:
            each.start()
        homes[0].run("CREATE TABLE only_here (x int)")
        homes[0].stop()
        assert homes[1].answers()
        assert homes[1].run("SELECT to_regclass('only_here')") == [(None,)]
    finally:
        for each in homes:
            each.remove()


def test_a_free_port_is_free() -> None:
    port = free_port()
    assert is_free(port)
    with socket.create_server(("127.0.0.1", port)):
        assert not is_free(port)
