"""Tables that version 0.1 has written, with its broker's own data: this version goes on with them, in both modes.

tests/fixtures/README.md says how they were made, and what is in them.
"""

import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from common.delta.open_ledger import open_ledger
from common.delta.quarantine import Selection
from common.delta.side_tables import WAITING
from common.drivers.batch_loop import BatchLoop
from common.drivers.stream import Stream
from common.engine.start import Inputs, start_from_table
from common.kafka.topic import TopicClient
from common.model.position import Position
from common.operations.quarantine import QuarantineTarget, replay
from common.settings.load import read_pipeline
from common.settings.locations import location
from common.settings.pipeline import Quality
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from tests.fixtures.make_tables import HERE, LONG_AGO, Record, fill, gone, reading, revision
from tests.support.broker import Broker
from tests.support.trial import drained

ARCHIVE = HERE / "tables_of_0_1.tar.gz"
MODES = pytest.mark.parametrize("mode", ["batch", "stream"])
# As 0.1 left them: the base, and what its transactions made of it.
READINGS = {(1, 1.0), (2, 2.5), (4, 4.5), (5, 5.0), (6, 600.0), (10, 10.0)}
REVISIONS = {(1, 5, "five"), (2, 2, "two"), (6, 1, "new")}


class OlderTable:
    """One of the tables, its topic, and the pipeline that fills it."""

    def __init__(self, spark: SparkSession, broker: Broker, folder: Path, name: str) -> None:
        self.spark, self.broker, self.name = spark, broker, name
        self.table, self.pipeline = location(str(folder / name)), read_pipeline(name)

    def run(self, mode: str, records: list[Record]) -> Position:
        fill(self.broker, self.name, records)
        given = Inputs(self.pipeline, self.table, TopicClient(self.broker.address, self.name))
        start = start_from_table(self.spark, given)
        return drained(Stream(self.spark, start) if mode == "stream" else BatchLoop(self.spark, start))

    def replay_without_rules(self) -> None:
        pipeline = self.pipeline.model_copy(update={"quality": Quality()})
        waiting = Selection(state=WAITING)
        replay(self.spark, QuarantineTarget(pipeline, self.table), waiting, overwrite=False, execute=True)

    def position(self) -> Position:
        return open_ledger(self.spark, self.table.uri, self.name).position()

    def rows(self, *columns: str) -> set[tuple[Any, ...]]:
        return distinct(self._read(""), columns)

    def side_rows(self, suffix: str, *columns: str) -> list[tuple[Any, ...]]:
        return sorted(map(tuple, self._read(suffix).selectExpr(*columns).collect()), key=repr)

    def _read(self, suffix: str) -> DataFrame:
        return self.spark.read.format("delta").load(f"{self.table.uri}{suffix}")


def distinct(rows: DataFrame, columns: tuple[str, ...]) -> set[tuple[Any, ...]]:
    found = [tuple(row) for row in rows.selectExpr(*columns).collect()]
    assert len(found) == len(set(found)), "a row stands twice"
    return set(found)


def as_of_now(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
    """Give each file the present time: Delta removes log entries by their age."""
    return tarfile.data_filter(member, folder).replace(mtime=time.time())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(HERE / "pipelines"))
    with tarfile.open(ARCHIVE) as packed:
        packed.extractall(tmp_path, filter=as_of_now)  # noqa: S202  data_filter refuses paths outside
    return tmp_path


@pytest.fixture
def older_broker(folder: Path) -> Iterator[Broker]:
    """A broker that goes on with the data of the one that 0.1 read from: the topics have their ids and offsets."""
    service = Kafka(home=folder, port=free_port())
    service.start()
    yield Broker(service.address)
    service.stop()


@pytest.fixture
def readings(spark: SparkSession, older_broker: Broker, folder: Path) -> OlderTable:
    return OlderTable(spark, older_broker, folder, "readings")


@pytest.fixture
def revisions(spark: SparkSession, older_broker: Broker, folder: Path) -> OlderTable:
    return OlderTable(spark, older_broker, folder, "revisions")


@MODES
def test_a_table_in_the_order_of_its_topic_goes_on(readings: OlderTable, mode: str) -> None:
    """The last run of 0.1 was killed before its commit: its four records are read again, and its side rows undone."""
    before = readings.position()
    assert (before.epoch, before.seq, sum(before.offsets.values())) == (2, 1, 12)
    assert readings.rows("id", "degrees") == READINGS
    new = [reading(2, 2.75), gone(4), reading(16, 16.0), reading(18, 18.0, LONG_AGO), (b"broken", b"once more")]
    after = readings.run(mode, new)
    assert (after.epoch, after.seq, sum(after.offsets.values())) == (2, 2, 12 + 4 + len(new))
    assert (after.topic_ids, readings.position()) == (before.topic_ids, after)

    settled = {(1, 1.5), (2, 2.75), (6, 600.0), (10, 10.0), (16, 16.0)}
    assert readings.rows("id", "degrees") == settled
    assert readings.rows("id", "_alluvium.epoch", "_alluvium.seq") == {
        (1, 2, 2),
        (2, 2, 2),
        (6, 1, 1),
        (10, 2, 1),
        (16, 2, 2),
    }
    assert readings.side_rows("_late", "epoch", "seq", "event.id") == [(1, 1, 7), (2, 1, 7), (2, 2, 14), (2, 2, 18)]
    assert readings.side_rows("_deleted_keys", "key.id") == [(3,), (4,), (5,), (99,)]
    turned_away = [("NOT_JSON", "waiting"), ("RULE_cool", "waiting"), ("RULE_cool", "waiting")]
    assert readings.side_rows("_quarantine", "epoch", "seq", "reason", "state") == [
        (1, 1, "NOT_JSON", "waiting"),
        (1, 1, "RULE_cool", "replayed"),
        (1, 1, "RULE_cool", "waiting"),
        *((2, 1, *each) for each in turned_away),
        *((2, 2, *each) for each in turned_away[:2]),
    ]

    readings.replay_without_rules()
    assert readings.rows("id", "degrees") == settled | {(8, 800.0), (12, 1200.0)}
    # Ids 6 and 8 are there twice, by each epoch. 0.1 has merged 6 itself.
    assert readings.side_rows("_quarantine", "reason", "state") == [
        *[("NOT_JSON", "waiting")] * 3,
        ("RULE_cool", "folded"),
        *[("RULE_cool", "replayed")] * 3,
        ("RULE_cool", "superseded"),
    ]
    assert readings.position() == after


@MODES
def test_a_table_in_the_order_of_a_column_goes_on(revisions: OlderTable, mode: str) -> None:
    before = revisions.position()
    assert (before.epoch, before.seq, sum(before.offsets.values())) == (1, 2, 9)
    assert revisions.rows("id", "revision", "name") == REVISIONS
    new = [
        revision(1, 6, "six"),
        revision(2, 1, "older than its row"),
        revision(7, 1, "seven"),
        revision(8, 1, "late", LONG_AGO),
        (b"1", None),
    ]
    after = revisions.run(mode, new)
    assert (after.epoch, after.seq, sum(after.offsets.values())) == (1, 3, 9 + len(new))
    assert (after.topic_ids, revisions.position()) == (before.topic_ids, after)

    settled = {(1, 6, "six"), (2, 2, "two"), (6, 1, "new"), (7, 1, "seven")}
    assert revisions.rows("id", "revision", "name") == settled
    assert revisions.side_rows("_late", "seq", "event.id") == [(1, 5), (3, 8)]
    assert revisions.side_rows("_quarantine", "seq", "reason", "state") == [
        (1, "NULL_SEQUENCE", "waiting"),
        (1, "NULL_VALUE", "waiting"),
        (1, "RULE_named", "waiting"),
        (3, "NULL_VALUE", "waiting"),
    ]

    revisions.replay_without_rules()
    assert revisions.rows("id", "revision", "name") == settled | {(4, 1, "")}
    assert ("RULE_named", "replayed") in revisions.side_rows("_quarantine", "reason", "state")


def test_a_position_that_only_its_copy_has_is_read(spark: SparkSession, folder: Path) -> None:
    """Here every entry before the newest has expired."""
    table = folder / "readings"
    ledger = open_ledger(spark, str(table), "readings")
    position = ledger.position()
    spark.sql(f"OPTIMIZE delta.`{table}`").collect()
    deltalog = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    deltalog.forTable(spark._jsparkSession, str(table)).checkpoint()
    for entry in sorted((table / "_delta_log").glob("*.json"))[:-1]:
        entry.unlink()
    deltalog.clearCache()
    assert open_ledger(spark, str(table), "readings").position() == position
