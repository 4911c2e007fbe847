"""Connector files: what they may say, what is filled in, and what Connect is sent."""

import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from common.connect.preparation import statements
from common.connect.rendering import MASK, masked, rendered
from common.connect.source import Publication, Source, SourceTable
from common.errors import ConfigurationError
from common.settings.connector import Connector
from common.settings.connector_settings import is_known
from common.settings.load_connector import read_connector
from tests.support.commands import ROOT

FOLDER = ROOT / "conf" / "connectors"
SHOP = (FOLDER / "shop.toml").read_text()
VARIABLES = (
    "ALLUVIUM_CONNECT_PORT",
    "ALLUVIUM_KAFKA_PORT",
    "ALLUVIUM_POSTGRES_SOURCE_PORT",
    "ALLUVIUM_POSTGRES_SOURCE_HOST",
    "ALLUVIUM_POSTGRES_SOURCE_PASSWORD",
    "ALLUVIUM_POSTGRES_SOURCE_CONNECT_HOST",
    "ALLUVIUM_POSTGRES_SOURCE_CONNECT_PORT",
    "ALLUVIUM_SERVICES_DIR",
)


@pytest.fixture(autouse=True)
def usual(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


def written(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> Connector:
    (folder / "shop.toml").write_text(text)
    monkeypatch.setenv("ALLUVIUM_CONNECTORS", str(folder))
    return read_connector("shop")


@pytest.mark.parametrize("name", ["shop", "voters"])
def test_a_connector_is_rendered_with_its_base(name: str) -> None:
    sent = rendered(read_connector(name))
    base = tomllib.loads((FOLDER / "base" / "postgresql.toml").read_text())["settings"]
    assert {setting for setting in base if setting not in sent} == set()
    assert sent["topic.prefix"] == sent["schema.include.list"] == name
    assert (sent["slot.name"], sent["publication.name"]) == (f"alluvium_{name}", f"alluvium_{name}")
    assert (sent["database.hostname"], sent["database.port"]) == ("127.0.0.1", "5433")
    assert sent["database.password"] == f"${{directory:{ROOT}/var/services/postgres-source:password}}"
    assert sent["slot.drop.on.stop"] == "false"
    assert all(isinstance(value, str) for value in sent.values())


def test_the_settings_that_decide_over_correctness_are_said() -> None:
    """Debezium's and Connect's own defaults lose or change data in each of these."""
    sent = rendered(read_connector("shop"))
    assert {
        "skipped.operations": "none",
        "key.converter.replace.null.with.default": "false",
        "value.converter.replace.null.with.default": "false",
        "decimal.handling.mode": "string",
        "interval.handling.mode": "string",
        "include.unknown.datatypes": "true",
        "provide.transaction.metadata": "true",
        "offset.mismatch.strategy": "trust_offset",
        "exactly.once.support": "required",
        "publication.autocreate.mode": "disabled",
        "topic.creation.default.partitions": "1",
    }.items() <= sent.items()


def test_every_setting_of_the_base_has_its_reason_above_it() -> None:
    """Settings that stand together share one."""
    lines = (FOLDER / "base" / "postgresql.toml").read_text().partition("[settings]")[2].splitlines()
    bare = [line for before, line in pairwise(lines) if line.startswith('"') and not before.startswith(("#", '"'))]
    assert bare == []


def test_variables_of_the_environment_move_the_services(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLUVIUM_CONNECT_PORT", "18083")
    monkeypatch.setenv("ALLUVIUM_POSTGRES_SOURCE_PORT", "15433")
    monkeypatch.setenv("ALLUVIUM_SERVICES_DIR", "/srv/services")
    connector = read_connector("shop")
    assert connector.connect.url == "http://127.0.0.1:18083"
    assert connector.database.address == "127.0.0.1:15433"
    assert connector.database.password == "file:/srv/services/postgres-source/password"  # noqa: S105  a reference
    assert rendered(connector)["database.password"] == "${directory:/srv/services/postgres-source:password}"


def test_connect_in_docker_reaches_the_database_by_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLUVIUM_POSTGRES_SOURCE_PASSWORD", "env:ALLUVIUM_POSTGRES_PASSWORD")
    monkeypatch.setenv("ALLUVIUM_POSTGRES_SOURCE_PORT", "15433")
    monkeypatch.setenv("ALLUVIUM_POSTGRES_SOURCE_CONNECT_HOST", "postgres-source")
    monkeypatch.setenv("ALLUVIUM_POSTGRES_SOURCE_CONNECT_PORT", "5433")
    connector = read_connector("shop")
    sent = rendered(connector)
    assert connector.database.address == "127.0.0.1:15433"
    assert (sent["database.hostname"], sent["database.port"]) == ("postgres-source", "5433")
    assert sent["database.password"] == "${env:ALLUVIUM_POSTGRES_PASSWORD}"


@pytest.mark.parametrize(
    ("replaced", "by", "problem"),
    [
        ("[capture]", "[captured]", "unknown key 'captured'; did you mean 'capture'?"),
        ("slot = ", "slots = ", "unknown key 'capture.slots'; did you mean 'slot'?"),
        ('slot = "alluvium_shop"', 'slot = "Shop"', "a slot and a publication are named with small letters"),
        ('topic_prefix = "shop"', 'topic_prefix = "my.shop"', "dots divide a topic's name"),
        ('schemas = ["shop"]', "schemas = []", "name either schemas or tables"),
        ("without = [", 'tables = ["shop.orders"]\nwithout = [', "name either schemas or tables"),
        ("user = ", "usr = ", "unknown key 'database.usr'; did you mean 'user'?"),
        ('sslmode = "disable"', 'sslmode = "off"', "database.sslmode: Input should be"),
        ("${ALLUVIUM_CONNECT_PORT:-8083}", "${NOT_THERE}", "the environment has no NOT_THERE"),
        ("-5433}", "-port}", "database.port"),
    ],
)
def test_a_mistake_is_named_with_the_nearest_key(
    replaced: str, by: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert replaced in SHOP
    with pytest.raises(ConfigurationError) as refused:
        written(tmp_path, monkeypatch, SHOP.replace(replaced, by))
    assert problem in refused.value.message


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        (
            '"skipped.operation" = "none"',
            "unknown key 'settings.skipped.operation'; did you mean 'skipped.operations'?",
        ),
        ('"slot.name" = "x"', "settings.slot.name: it is said by capture.slot"),
        ('"database.sslpassword" = "hunter2"', "settings.database.sslpassword: a secret does not stand in a connector"),
        (
            '"transforms.flat.type" = "io.debezium.transforms.ExtractNewRecordState"',
            "ExtractNewRecordState drops what tells updates, deletes and their order apart",
        ),
    ],
)
def test_a_wrong_setting_is_refused(
    setting: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        written(tmp_path, monkeypatch, f"{SHOP}\n[settings]\n{setting}\n")
    assert problem in refused.value.message
    assert "hunter2" not in str(refused.value)


def test_a_password_is_never_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLUVIUM_POSTGRES_SOURCE_PASSWORD", "hunter2")
    with pytest.raises(ConfigurationError) as refused:
        written(tmp_path, monkeypatch, SHOP)
    assert "write env:NAME or file:PATH" in refused.value.message
    assert "hunter2" not in str(refused.value)


def test_a_file_says_otherwise_than_its_base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = '"exactly.once.support" = "requested"\n"topic.creation.default.replication.factor" = 3\n'
    sent = rendered(written(tmp_path, monkeypatch, f"{SHOP}\n[settings]\n{own}"))
    assert (sent["exactly.once.support"], sent["topic.creation.default.replication.factor"]) == ("requested", "3")
    assert sent["skipped.operations"] == "none"


def test_an_unknown_connector_is_told_which_there_are() -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_connector("shops")
    assert (refused.value.message, refused.value.remedy.partition("; ")[2]) == (
        "no connector 'shops'",
        "there are: shop, voters",
    )


def test_what_is_no_reference_is_masked() -> None:
    shown = masked({"database.password": "hunter2", "a.token": "${env:TOKEN}", "slot.name": "x"})
    assert shown == {"database.password": MASK, "a.token": "${env:TOKEN}", "slot.name": "x"}


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("value.converter.schemas.enable", True),
        ("column.mask.with.12.chars", True),
        ("column.mask.with.x.chars", False),
        ("topic.creation.default.partitions", True),
        ("producer.override.linger.ms", True),
        ("snapshot.modes", False),
    ],
)
def test_names_with_a_part_of_the_users_are_known(name: str, *, known: bool) -> None:
    assert is_known(name) == known


PUBLISHED = Publication(
    frozenset({"shop.orders", "alluvium.shop_signals"}),
    via_root=True,
    operations=frozenset({"insert", "update", "delete", "truncate"}),
)
ORDERS, ITEMS = (
    SourceTable(f"shop.{name}", has_key=True, identity="default", is_partition=False) for name in ("orders", "items")
)
OPTIONS = "publish = 'insert, update, delete, truncate', publish_via_partition_root = true"
SIGNALS = '"alluvium"."shop_signals"'
OBJECTS = f'TABLES IN SCHEMA "shop", TABLE {SIGNALS}'


def test_a_database_that_has_everything_needs_nothing() -> None:
    assert statements(read_connector("shop"), Source("logical", None, PUBLISHED, (ORDERS,), has_signals=True)) == []


def test_an_empty_database_is_prepared_whole() -> None:
    assert statements(read_connector("shop"), Source("logical", None, None, (ORDERS,), has_signals=False)) == [
        'CREATE SCHEMA IF NOT EXISTS "alluvium"',
        f"CREATE TABLE {SIGNALS} (id varchar(64) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
        f'CREATE PUBLICATION "alluvium_shop" FOR {OBJECTS} WITH ({OPTIONS})',
    ]


def test_a_publication_gets_what_it_lacks() -> None:
    source = Source("logical", None, PUBLISHED, (ORDERS, ITEMS), has_signals=True)
    assert statements(read_connector("shop"), source) == [f'ALTER PUBLICATION "alluvium_shop" SET {OBJECTS}']
    halved = Publication(PUBLISHED.tables, via_root=False, operations=frozenset({"insert"}))
    source = Source("logical", None, halved, (ORDERS,), has_signals=True)
    assert statements(read_connector("shop"), source) == [f'ALTER PUBLICATION "alluvium_shop" SET ({OPTIONS})']


def test_single_tables_are_published_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = SHOP.replace('schemas = ["shop"]', 'tables = ["shop.orders", "shop.Items"]')
    without = "\n".join(line for line in text.splitlines() if not line.startswith("without"))
    connector = written(tmp_path, monkeypatch, without)
    assert rendered(connector)["table.include.list"] == r"shop\.orders,shop\.Items"
    (created,) = statements(connector, Source("logical", None, None, (ORDERS,), has_signals=True))
    assert 'FOR TABLE "shop"."orders", TABLE "shop"."Items", TABLE "alluvium"."shop_signals" WITH' in created
    assert not connector.capture.holds("shop.customers")


def test_the_document_names_every_setting_of_the_base() -> None:
    base = tomllib.loads((FOLDER / "base" / "postgresql.toml").read_text())["settings"]
    document = (ROOT / "docs" / "connectors.md").read_text()
    assert [name for name in base if f"`{name}`" not in document] == []
