"""Connectors and simulators as a user runs them, on a real database, a real worker of Connect and a real broker."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from common import rest
from common.connect.worker import Worker
from common.settings.connector_settings import LISTED
from datasets.simulator.table_hash import TableHash
from kafka_docker.embedded.connect import Connect
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from kafka_docker.embedded.postgres import Postgres
from tests.support.change_events import Replayed, read_topic, replayed
from tests.support.commands import ROOT, clean_environment, run
from tests.support.waiting import await_true

CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'alluvium'"
# By the schema change `rename`.
FORMER_NAMES = {"remark": "note"}
PLUGIN = "io.debezium.connector.postgresql.PostgresConnector"
Done = "subprocess.CompletedProcess[str]"


@dataclass(frozen=True)
class Place:
    """Three services, and the commands that are told where they are."""

    kafka: Kafka
    postgres: Postgres
    connect: Connect

    def environment(self, **more: str) -> dict[str, str]:
        usual = {
            "ALLUVIUM_SERVICES_DIR": str(self.postgres.home),
            "ALLUVIUM_KAFKA_PORT": str(self.kafka.port),
            "ALLUVIUM_POSTGRES_SOURCE_PORT": str(self.postgres.port),
            "ALLUVIUM_CONNECT_PORT": str(self.connect.port),
            "ALLUVIUM_LOG_DIR": str(self.postgres.home / "log"),
        }
        return clean_environment(**usual | more)

    def connector(self, *arguments: str, **more: str) -> Done:
        return run([ROOT / "submit" / "connector.sh", *arguments], environment=self.environment(**more))

    def simulator(self, which: str, *arguments: str) -> Done:
        return run([ROOT / "submit" / f"{which}_simulator.sh", *arguments], environment=self.environment())

    def well(self, name: str) -> Callable[[], bool]:
        return lambda: self.connector("status", name).returncode == 0

    def replayed_up_to(self, prefix: str, table: str, events: int) -> Replayed:
        """What the events of a table add up to, once so many have come."""
        await_true(
            lambda: self.replayed(prefix, table).operations.total() >= events, f"{events} events of {table}", pause=0.5
        )
        return self.replayed(prefix, table)

    def replayed(self, prefix: str, table: str) -> Replayed:
        return replayed(read_topic(self.kafka.address, f"{prefix}.{prefix}.{table}"))


@pytest.fixture(scope="module")
def place(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    assert run([ROOT / "build.sh"]).returncode == 0
    home = tmp_path_factory.mktemp("capture")
    postgres = Postgres(home=home, port=free_port())
    connect = Connect(home=home, port=free_port(), brokers=kafka.address)
    postgres.start()
    try:
        connect.start()
        yield Place(kafka, postgres, connect)
    finally:
        connect.stop()
        postgres.remove()


@pytest.fixture(scope="module")
def shop(place: Place) -> Place:
    """The shop, created and registered."""
    created = place.simulator("shop", "create", "--size", "30")
    assert created.returncode == 0, created.stderr
    registered = place.connector("register", "shop")
    assert (registered.returncode, registered.stdout) == (0, "shop: RUNNING, slot alluvium_shop, topics shop.*\n"), (
        registered.stderr
    )
    return place


def totals(counts: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Rows that were changed, by table and kind, over several runs of a simulator."""
    found: dict[str, dict[str, int]] = {}
    for each in counts:
        for table, kinds in each["changes"].items():
            for kind, count in kinds.items():
                found.setdefault(table, {}).setdefault(kind, 0)
                found[table][kind] += count
    return found


def expected_operations(kinds: dict[str, int]) -> dict[str, int]:
    """Each change once: a change of a key is a delete and an insert, and each delete is followed by a tombstone."""
    rekeyed, deleted = kinds.get("rekey", 0), kinds.get("delete", 0)
    found = {
        "c": kinds.get("insert", 0) + rekeyed,
        "u": kinds.get("update", 0),
        "d": deleted + rekeyed,
        "tombstone": deleted + rekeyed,
        "t": kinds.get("truncate", 0),
    }
    return {operation: count for operation, count in found.items() if count}


def hash_of(replay: Replayed, kinds: dict[str, str]) -> tuple[int, str]:
    """Rows as the source has them now: one whose last event came before a schema change has the columns of then."""
    hashed = TableHash(kinds)
    for row in replay.rows.values():
        hashed.add({name: row.get(name, row.get(FORMER_NAMES.get(name, ""))) for name in kinds})
    return hashed.rows, hashed.hexdigest()


def test_every_change_arrives_once_although_the_worker_is_killed(shop: Place) -> None:
    snapshot = {
        table["table"]: table["rows"] for table in json.loads(shop.simulator("shop", "summary", "--json").stdout)
    }
    changes = ("new-table", "widen", "rename", "drop", "add-nullable-column")
    named = [argument for change in changes for argument in ("--change", change)]
    first = shop.simulator("shop", "run", "--operations", "250", "--seed", "3", "--truncate", "--json", *named)
    assert first.returncode == 0, first.stderr
    paced = [
        ROOT / "submit" / "shop_simulator.sh",
        "run",
        "--operations",
        "250",
        "--seed",
        "4",
        "--rate",
        "60",
        "--json",
    ]
    with subprocess.Popen(paced, env=shop.environment(), stdout=subprocess.PIPE, text=True) as running:
        time.sleep(1.5)
        assert running.poll() is None
        shop.connect.kill()
        shop.connect.start()
        printed, _ = running.communicate(timeout=60)
    second = json.loads(printed)
    done = totals([json.loads(first.stdout), second])
    for table in second["tables"]:
        name = table["table"]
        wanted = expected_operations(done.get(name, {})) | ({"r": snapshot[name]} if name in snapshot else {})
        found = shop.replayed_up_to("shop", name, sum(wanted.values()))
        assert dict(found.operations) == wanted, name
        assert hash_of(found, table["kinds"]) == (table["rows"], table["hash"]), name
    assert read_topic(shop.kafka.address, "shop.shop.order_history_202501") == []


def test_a_healthy_connector_is_said_to_be_well(shop: Place) -> None:
    await_true(shop.well("shop"), "a healthy status", pause=0.5)
    done = shop.connector("status", "shop")
    assert done.stdout.splitlines()[0] == "connector    shop: RUNNING"
    assert "publication  alluvium_shop: 6 of 6 tables" in done.stdout
    assert done.stdout.endswith("all is well\n")
    told = json.loads(shop.connector("status", "shop", "--json").stdout)
    assert (told["is_well"], told["state"], told["findings"]) == (True, "RUNNING", [])
    assert told["slot"]["active"]
    assert told["tasks"] == [{"number": 0, "state": "RUNNING", "error": None}]


def test_the_password_is_nowhere_but_in_its_file(shop: Place) -> None:
    planned = shop.connector("register", "shop", "--dry-run")
    assert planned.returncode == 0
    assert f'"database.password": "${{directory:{shop.postgres.folder}:password}}"' in planned.stdout
    shown = rest.request(shop.connect.address, "GET", "/connectors/shop").body
    logs = "".join(path.read_text() for path in (shop.postgres.home / "log").iterdir())
    assert shop.postgres.password not in planned.stdout + json.dumps(shown) + logs


def test_a_table_can_be_read_again_beside_the_stream(shop: Place) -> None:
    (rows,) = shop.postgres.run("SELECT count(*) FROM shop.products")[0]
    done = shop.connector("snapshot", "shop", "shop.products")
    assert done.returncode == 0, done.stderr

    def incremental() -> int:
        values = [message.value() for message in read_topic(shop.kafka.address, "shop.shop.products")]
        return sum(json.loads(value)["payload"]["source"]["snapshot"] == "incremental" for value in values if value)

    await_true(lambda: incremental() == rows, "an incremental snapshot", pause=0.5)
    refused = shop.connector("snapshot", "shop", "shop.nothing_else", "voters.voters")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: the connector 'shop' does not capture voters.voters; name SCHEMA.TABLE of its file\n",
    )


def test_a_publication_without_a_table_is_named_and_mended_by_the_remedy(shop: Place) -> None:
    shop.postgres.run("ALTER PUBLICATION alluvium_shop SET TABLE shop.customers, alluvium.shop_signals")
    told = shop.connector("status", "shop")
    assert told.returncode == 1
    assert "publication  alluvium_shop: 1 of 6 tables" in told.stdout
    (line,) = [line for line in told.stdout.splitlines() if line.startswith("wrong")]
    assert line.startswith("wrong: the publication 'alluvium_shop' lacks shop.order_history, shop.order_items, ")
    assert "submit/connector.sh register shop" in line
    assert shop.connector("register", "shop").returncode == 0
    await_true(shop.well("shop"), "a healthy status", pause=0.5)
    assert shop.postgres.run("SELECT pubviaroot, pubtruncate FROM pg_publication") == [(True, True)]


def test_wrong_credentials_are_a_configuration_error(shop: Place) -> None:
    wrong = {"ALLUVIUM_POSTGRES_SOURCE_PASSWORD": "env:GUESS", "GUESS": "hunter2"}
    for command in ("status", "register"):
        done = shop.connector(command, "shop", **wrong)
        assert done.returncode == 2, done.stdout
        assert (
            "does not let user 'alluvium' into database 'source' (password authentication failed"
            in done.stdout + done.stderr
        )
        assert "correct user, password (env:GUESS) and name of [database]" in done.stdout + done.stderr
        assert "hunter2" not in done.stdout + done.stderr
    missing = shop.connector("register", "shop", **wrong | {"ALLUVIUM_POSTGRES_SOURCE_PASSWORD": "env:NOT_THERE"})
    assert (missing.returncode, missing.stderr.split(";")[0]) == (
        2,
        "error: the environment has no NOT_THERE, which env:NOT_THERE names",
    )


def test_connect_that_does_not_answer_is_asked_for_later(shop: Place) -> None:
    nobody = str(free_port())
    for command in ("status", "register", "restart", "pause", "resume", "delete"):
        done = shop.connector(command, "shop", ALLUVIUM_CONNECT_PORT=nobody)
        assert done.returncode == 75, command
        assert f"Kafka Connect does not answer at http://127.0.0.1:{nobody}" in done.stdout + done.stderr
        assert f"kafka_docker/services start connect --port {nobody}" in done.stdout + done.stderr


def test_a_missing_plugin_is_named(shop: Place, tmp_path: Path) -> None:
    file = (ROOT / "conf" / "connectors" / "shop.toml").read_text()
    other = 'settings."connector.class" = "io.debezium.connector.mysql.MySqlConnector"\n'
    (tmp_path / "other.toml").write_text(file.replace('base = "postgresql"\n', f'base = "postgresql"\n{other}'))
    for command in ("status", "register"):
        done = shop.connector(command, "other", ALLUVIUM_CONNECTORS=str(tmp_path))
        assert done.returncode == 1
        assert "no plugin io.debezium.connector.mysql.MySqlConnector; unpack " in done.stdout + done.stderr


def test_a_connector_pauses_goes_on_and_restarts(shop: Place) -> None:
    assert shop.connector("pause", "shop").stdout == "shop: paused\n"
    await_true(lambda: "connector    shop: PAUSED" in shop.connector("status", "shop").stdout, "a pause", pause=0.5)
    paused = shop.connector("status", "shop")
    assert "note: the connector is PAUSED" in paused.stdout
    assert paused.returncode == 0
    for command in ("resume", "restart"):
        done = shop.connector(command, "shop")
        assert (done.returncode, done.stdout) == (0, "shop: RUNNING\n"), done.stderr


def test_a_dropped_slot_is_named_and_its_remedy_begins_anew(shop: Place) -> None:
    worker = Worker(f"http://{shop.connect.address}")
    worker.stop("shop")
    await_true(lambda: shop.postgres.run("SELECT active FROM pg_replication_slots") == [(False,)], "a free slot")
    shop.postgres.run("SELECT pg_drop_replication_slot('alluvium_shop')")
    shop.postgres.run("DELETE FROM shop.customers WHERE customer_id NOT IN (SELECT customer_id FROM shop.orders)")
    resumed = shop.connector("resume", "shop")
    assert resumed.returncode == 1
    assert (
        "the connector 'shop' has failed (The connector is trying to read change stream starting at" in resumed.stderr
    )
    told = shop.connector("status", "shop")
    assert told.returncode == 1
    wrong = [line for line in told.stdout.splitlines() if line.startswith("wrong")]
    assert wrong[0].startswith(
        "wrong: the replication slot 'alluvium_shop' is missing: changes since it was dropped are lost"
    )
    assert wrong[1].startswith("wrong: task 0 has failed: The connector is trying to read change stream")
    refused = shop.connector("register", "shop")
    assert (refused.returncode, "changes since then are lost" in refused.stderr) == (1, True)
    before = shop.replayed("shop", "customers").operations["r"]
    remedy = wrong[0].partition("begin anew with a snapshot: ")[2].split(" && ")
    assert remedy == ["submit/connector.sh delete --forget shop", "submit/connector.sh register shop"]
    for command in remedy:
        done = run(command.split(), environment=shop.environment())
        assert done.returncode == 0, done.stderr
    await_true(shop.well("shop"), "a healthy status", pause=0.5)
    (rows,) = shop.postgres.run("SELECT count(*) FROM shop.customers")[0]
    await_true(lambda: shop.replayed("shop", "customers").operations["r"] == before + rows, "a new snapshot", pause=0.5)


def test_the_settings_that_a_file_may_have_are_those_of_the_plugin(place: Place) -> None:
    known = Worker(f"http://{place.connect.address}").plugin_settings(PLUGIN)
    assert {name for name in known if "(" not in name and not name.startswith("internal.")} == LISTED


def test_the_voters_book_is_captured_beside_the_shop(shop: Place) -> None:
    created = shop.simulator("voters", "create", "--size", "20")
    assert created.returncode == 0, created.stderr
    began = {each["table"]: each["rows"] for each in json.loads(shop.simulator("voters", "summary", "--json").stdout)}
    assert shop.connector("register", "voters").returncode == 0
    changes = ("--change", "add-column", "--change", "widen", "--change", "rename", "--change", "drop")
    done = shop.simulator("voters", "run", "--operations", "150", "--seed", "5", "--json", *changes)
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    for table in content["tables"]:
        if table["table"] == "voters":
            # Old rows got the default of a new column without an event.
            continue
        counted = expected_operations(totals([content]).get(table["table"], {})) | {"r": began[table["table"]]}
        found = shop.replayed_up_to("voters", table["table"], sum(counted.values()))
        assert hash_of(found, table["kinds"]) == (table["rows"], table["hash"]), table["table"]
    assert shop.connector("delete", "voters", "--forget").returncode == 0
    assert shop.postgres.run("SELECT slot_name FROM pg_replication_slots") == [("alluvium_shop",)]
    assert shop.connector("status", "voters").returncode == 1


def test_a_simulator_ends_cleanly_at_a_signal(shop: Place) -> None:
    command = [ROOT / "submit" / "shop_simulator.sh", "run", "--seconds", "60", "--rate", "50"]
    with subprocess.Popen(
        command, env=shop.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        await_true(lambda: shop.postgres.run(CONNECTIONS) == [(2,)], "the simulator")
        time.sleep(1)
        running.send_signal(signal.SIGTERM)
        printed, complaints = running.communicate(timeout=30)
    assert running.returncode == 143
    assert complaints.startswith("stopped by SIGTERM after ")
    assert "Traceback" not in complaints
    assert " operations of seed 1, " in printed
    summary = shop.simulator("shop", "summary").stdout
    assert printed.endswith(summary)


def test_the_same_seed_leaves_the_same_rows(shop: Place) -> None:
    found = set()
    for _ in range(2):
        assert shop.simulator("voters", "create", "--replace", "--size", "10", "--seed", "9").returncode == 0
        done = shop.simulator("voters", "run", "--operations", "200", "--seed", "9", "--truncate", "--json")
        found.add(json.dumps(json.loads(done.stdout)["tables"]))
    assert len(found) == 1


def test_wrong_arguments_of_a_simulator_are_named(shop: Place) -> None:
    again = shop.simulator("shop", "create")
    assert (again.returncode, again.stderr.split(" in ")[0]) == (2, "error: the schema 'shop' exists")
    made = shop.simulator("shop", "change", "new-table")
    assert (made.returncode, made.stderr.split(";")[0]) == (2, "error: the schema change 'new-table' was made before")
