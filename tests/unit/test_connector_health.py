"""What is wrong with a connector: each broken situation, its one line and its exit code."""

from dataclasses import replace

import pytest

from common.connect.health import Facts, findings
from common.connect.source import Publication, Slot, Source, SourceTable
from common.connect.status import Status
from common.connect.worker import State, Task, error_of
from common.errors import ConnectUnreachable, DatabaseUnreachable
from common.present.connectors import status_lines
from common.settings.load_connector import read_connector

PLUGIN = "io.debezium.connector.postgresql.PostgresConnector"
ORDERS = SourceTable("shop.orders", has_key=True, identity="default", is_partition=False)
PUBLICATION = Publication(
    frozenset({"shop.orders", "alluvium.shop_signals"}),
    via_root=True,
    operations=frozenset({"insert", "update", "delete", "truncate"}),
)
SOURCE = Source(
    "logical", Slot(active=True, wal_status="reserved", kept_bytes=4096), PUBLICATION, (ORDERS,), has_signals=True
)
RUNNING = State("RUNNING", None, (Task(0, "RUNNING"),))
WELL = Facts(PLUGIN, frozenset({PLUGIN}), RUNNING, (), SOURCE, 2.0)


def failed(error: str) -> State:
    return State("RUNNING", None, (Task(0, "FAILED", error),))


def source(**changes: object) -> Source:
    return replace(SOURCE, **changes)


def test_a_healthy_connector_has_no_finding() -> None:
    connector = read_connector("shop")
    assert findings(connector, WELL) == []
    assert status_lines(Status(connector, WELL, [])) == [
        "connector    shop: RUNNING",
        "task 0       RUNNING",
        "slot         alluvium_shop: active, 0.0 MiB of WAL kept back",
        "publication  alluvium_shop: 1 of 1 tables",
        "heartbeat    2 s ago",
        "all is well",
    ]


@pytest.mark.parametrize(
    ("changes", "problem", "remedy", "code"),
    [
        ({"plugins": ConnectUnreachable("nobody", "start it"), "state": None}, "nobody", "start it", 75),
        ({"plugins": frozenset()}, f"Connect has no plugin {PLUGIN}", "plugin.path", 1),
        ({"source": DatabaseUnreachable("silent", "start it")}, "silent", "start it", 75),
        ({"source": source(wal_level="replica")}, "has wal_level = replica", "wal_level = logical", 2),
        ({"state": None}, "the connector 'shop' is not registered", "submit/connector.sh register shop", 1),
        ({"source": source(slot=None)}, "slot 'alluvium_shop' is missing", "delete --forget shop", 1),
        (
            {"source": source(slot=Slot(active=False, wal_status="lost", kept_bytes=0))},
            "removed WAL that the slot",
            "max_slot_wal_keep_size",
            1,
        ),
        (
            {"source": source(slot=Slot(active=False, wal_status="reserved", kept_bytes=0))},
            "nobody reads the replication slot",
            "in a minute",
            75,
        ),
        (
            {"source": source(slot=Slot(active=True, wal_status="extended", kept_bytes=5 * 1024**3))},
            "keeps 5,120.0 MiB of WAL",
            "delete",
            1,
        ),
        ({"source": source(publication=None)}, "publication 'alluvium_shop' is missing", "register shop", 1),
        (
            {
                "source": source(
                    tables=(ORDERS, SourceTable("shop.items", has_key=True, identity="default", is_partition=False))
                )
            },
            "the publication 'alluvium_shop' lacks shop.items",
            "submit/connector.sh snapshot shop shop.items",
            1,
        ),
        (
            {"source": source(publication=replace(PUBLICATION, operations=frozenset({"insert", "update", "delete"})))},
            "does not send truncate",
            "register shop",
            1,
        ),
        ({"source": source(publication=replace(PUBLICATION, via_root=False))}, "partitions as tables", "register", 1),
        (
            {
                "source": source(
                    tables=(ORDERS, SourceTable("shop.orders_1", has_key=True, identity="default", is_partition=True))
                )
            },
            "a snapshot reads the partition shop.orders_1",
            "capture.without",
            2,
        ),
        (
            {"source": source(tables=(replace(ORDERS, has_key=False),))},
            "shop.orders refuses updates and deletes",
            "REPLICA IDENTITY FULL",
            1,
        ),
        ({"state": failed("out of memory")}, "task 0 has failed: out of memory", "submit/connector.sh restart shop", 1),
        ({"state": failed("FATAL: password authentication failed")}, "authentication failed", "correct user and", 2),
        ({"state": failed("… no longer available on the server. …")}, "no longer available", "delete --forget", 1),
        ({"state": failed('publication "p" does not exist')}, "does not exist", "register shop", 1),
        ({"state": State("FAILED", "no such class", ())}, "the connector has failed: no such class", "restart", 1),
        ({"state": State("RUNNING", None, ())}, "no task yet", "in a minute", 75),
        ({"state": State("RUNNING", None, (Task(0, "UNASSIGNED"),))}, "waits for a worker", "in a minute", 75),
        ({"heartbeat_age": None}, "no heartbeat in __debezium-heartbeat.shop", "kafka.brokers", 75),
        ({"heartbeat_age": 300.0}, "is 300 s old", "restart shop", 1),
    ],
)
def test_what_is_wrong_is_one_line_with_its_remedy(
    changes: dict[str, object], problem: str, remedy: str, code: int
) -> None:
    connector = read_connector("shop")
    found = findings(connector, replace(WELL, **changes))
    assert problem in found[0].problem
    assert remedy in found[0].remedy
    assert "\n" not in str(found[0])
    assert Status(connector, WELL, found).exit_code == code


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"state": State("PAUSED", None, (Task(0, "PAUSED"),))}, "the connector is PAUSED"),
        ({"differing": ("poll.interval.ms",)}, "Connect has other settings than the file: poll.interval.ms"),
        (
            {"source": source(tables=(replace(ORDERS, unmarked=("prices numeric[]",)),))},
            "shop.orders (prices numeric[]): an untouched large array has no marker",
        ),
    ],
)
def test_a_note_leaves_a_connector_well(changes: dict[str, object], note: str) -> None:
    connector = read_connector("shop")
    found = findings(connector, replace(WELL, **changes))
    assert [each.problem.startswith(note) for each in found] == [True]
    assert Status(connector, WELL, found).exit_code == 0


def test_a_cause_stands_before_its_consequence() -> None:
    broken = replace(WELL, state=failed("… no longer available on the server"), source=source(slot=None))
    assert [each.problem.partition(":")[0] for each in findings(read_connector("shop"), broken)] == [
        "the replication slot 'alluvium_shop' is missing",
        "task 0 has failed",
    ]


@pytest.mark.parametrize(
    ("trace", "line"),
    [
        (
            "org.x.ConnectException: it failed\n\tat org.x.Y\nCaused by: java.io.IOException: disk full\n\tat z",
            "disk full",
        ),
        ("io.debezium.DebeziumException: gone\n\tat org.x.Y", "gone"),
        ("just words", "just words"),
        (None, None),
    ],
)
def test_an_error_is_its_innermost_cause(trace: str | None, line: str | None) -> None:
    assert error_of({"trace": trace}) == line
