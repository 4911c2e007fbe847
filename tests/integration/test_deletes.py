"""Records without a value, and where rows come from: in both drivers, on a real table."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from common.delta.deleted_keys import merge_tombstones
from common.delta.lineage import LINEAGE_TYPE, is_later
from common.engine.run_report import Counts, read_report
from common.operations.base_load import load_base
from common.settings.environment import run_id
from common.settings.locations import location
from tests.support.frames import frame
from tests.support.trial import Trial, event, pipeline, tombstone

BASE = {(1, "a", 1.0), (2, "a", 2.0)}


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    return tmp_path / "reports"


def totals(reports: Path) -> Counts:
    return read_report(reports / f"{run_id()}.json").totals


def remembered(trial: Trial) -> set[tuple[int, str, int, int]]:
    rows = trial.spark.read.format("delta").load(f"{trial.table.uri}_deleted_keys")
    found = rows.selectExpr("key.id", "key.part", "_alluvium.partition", "_alluvium.offset").collect()
    assert len(found) == len(set(found)), "a key is remembered twice"
    return {tuple(row) for row in found}


def origins(trial: Trial) -> dict[int, tuple[object, ...] | None]:
    rows = trial.spark.read.format("delta").load(trial.table.uri).select("id", "_alluvium").collect()
    return {row["id"]: row["_alluvium"] and tuple(row["_alluvium"]) for row in rows}


def test_17_a_null_value_is_counted_skipped_and_never_inserted(trial: Trial, reports: Path) -> None:
    trial.pipeline = pipeline(trial.topic, source={"null_value": "skip"})
    trial.broker.produce(trial.topic, [tombstone(1, "a"), (None, None), tombstone(9, "z")], partition=0)
    trial.run("stream")
    assert trial.rows() == BASE
    assert trial.quarantined() == []
    assert (totals(reports).rows, totals(reports).null, totals(reports).merge) == (3, 3, 0)


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_17_a_null_value_deletes_the_row_of_its_key(trial: Trial, reports: Path, mode: str) -> None:
    """A rule is not asked of a tombstone: it has nothing but its key."""
    trial.pipeline = pipeline(
        trial.topic,
        source={"null_value": "delete"},
        quality={"rules": [{"name": "measured", "check": "degrees IS NOT NULL"}]},
    )
    trial.broker.produce(
        trial.topic,
        [
            tombstone(1, "a"),
            tombstone(9, "z"),
            event(3, "b", 3.0),
            tombstone(3, "b"),
            tombstone(2, "a"),
            event(2, "a", 2.5),
            (None, None),
            (b"not json", None),
            (b'{"id":4}', None),
            (b'{"id":"4","part":"b"}', None),
        ],
        partition=1,
    )
    trial.run(mode)
    assert trial.rows() == {(2, "a", 2.5)}
    assert [row[2] for row in trial.quarantined()] == ["BAD_KEY"] * 4
    assert trial.quarantined()[1][6:] == (b"not json", None)
    found = totals(reports)
    assert (found.rows, found.merge, found.folded, found.quarantined) == (10, 4, 2, 4)
    assert (found.inserted, found.updated, found.deleted, found.absent) == (0, 1, 1, 2)
    assert remembered(trial) == {(1, "a", 1, 0), (9, "z", 1, 1), (3, "b", 1, 3), (2, "a", 1, 4)}


def test_the_newest_delete_of_a_key_is_remembered_once(spark: SparkSession, tmp_path: Path) -> None:
    """The same again, an older one read again under a new epoch, a newer one, one of a recreated topic."""

    def remember(*tombstones: tuple[int, tuple[object, ...]]) -> None:
        rows = [("trial", "table", (key, "a"), origin) for key, origin in tombstones]
        kinds = (
            "pipeline string, table_id string, key struct<id:bigint,part:string>, _alluvium "
            + LINEAGE_TYPE.simpleString()
        )
        merge_tombstones(frame(spark, rows, kinds), str(tmp_path / "memory"), ["id", "part"])

    first, older, newer, recreated = [
        ("t", "one", 0, 5, 1, 3), ("t", "one", 0, 4, 2, 1), ("t", "one", 0, 6, 2, 1), ("t", "two", 0, 0, 2, 1)
    ]  # fmt: skip
    remember((1, first), (2, first), (3, first), (4, first))
    remember((1, first), (2, older), (3, newer), (4, recreated))
    found = spark.read.format("delta").load(str(tmp_path / "memory")).orderBy("key.id").collect()
    assert [(row["key"]["id"], tuple(row["_alluvium"])) for row in found] == [
        (1, first),
        (2, first),
        (3, newer),
        (4, recreated),
    ]


def test_which_of_two_came_later(spark: SparkSession) -> None:
    here, base = ("t", "one", 0, 5, 1, 3), (None, None, None, None, 1, 0)
    pairs = [
        (("t", "one", 0, 6, 1, 3), here, True),
        (("t", "one", 0, 5, 1, 3), here, False),
        (("t", "one", 0, 4, 2, 9), here, False),
        (("t", "one", 1, 0, 1, 4), here, True),
        (("t", "one", 1, 9, 1, 2), here, False),
        (("t", "two", 0, 0, 2, 1), here, True),
        (here, base, True),
        (base, here, False),
        (here, (None, None, None, None, 2, 0), False),
        (here, None, None),
    ]
    kind = LINEAGE_TYPE.simpleString()
    rows = frame(spark, pairs, f"one {kind}, other {kind}, wanted boolean")
    found = rows.selectExpr("wanted", f"{is_later('one', 'other')} AS found").collect()
    assert [row["found"] for row in found] == [row["wanted"] for row in found]


def test_lineage_says_where_each_row_comes_from_and_has_no_statistics(trial: Trial, spark: SparkSession) -> None:
    folder = trial.table.local.parent / "ä b%20"
    trial.pipeline = pipeline(trial.topic, target={"lineage": True})
    frame(spark, list(BASE), "id bigint, part string, degrees double").write.parquet(str(folder / "base"))
    trial.table = location(str(folder / "table"))
    load_base(spark, trial.pipeline, location(f"{folder}/base"), trial.table, overwrite=False)
    trial.broker.produce(trial.topic, [event(1, "a", 9.0), event(3, "b", 3.0)], partition=2)
    topic_id = trial.run("batch").topic_ids[trial.topic]
    assert origins(trial) == {
        1: (trial.topic, topic_id, 2, 0, 1, 1),
        2: (None, None, None, None, 1, 0),
        3: (trial.topic, topic_id, 2, 1, 1, 1),
    }
    assert columns_with_statistics(trial.table.local) == {"id", "degrees"}


@pytest.mark.long
def test_a_table_without_lineage_gets_it_and_one_that_gives_it_up_keeps_no_wrong_one(trial: Trial) -> None:
    trial.pipeline = pipeline(trial.topic, target={"lineage": True})
    trial.broker.produce(trial.topic, [event(1, "a", 9.0)], partition=2)
    topic_id = trial.run("stream").topic_ids[trial.topic]
    assert origins(trial) == {1: (trial.topic, topic_id, 2, 0, 1, 1), 2: None}
    assert columns_with_statistics(trial.table.local) == {"id", "degrees"}
    trial.pipeline = pipeline(trial.topic)
    trial.broker.produce(trial.topic, [event(1, "a", 10.0)], partition=2)
    trial.run("batch")
    assert trial.rows() == {(1, "a", 10.0), (2, "a", 2.0)}
    assert origins(trial) == {1: None, 2: None}


def columns_with_statistics(table: Path) -> set[str]:
    lines = [line for log in (table / "_delta_log").glob("*.json") for line in log.read_text().splitlines()]
    added = [json.loads(line)["add"] for line in lines if line.startswith('{"add"')]
    return {name for add in added for name in json.loads(add["stats"])["nullCount"]}
