"""Nested columns from a topic to the table and what stands beside it: in both modes, in every way to commit."""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from common.delta.quarantine import Selection
from common.delta.side_tables import WAITING
from common.engine.run_report import read_report
from common.errors import UsageError
from common.operations.base_load import load_base
from common.operations.create_table import create_or_compare
from common.operations.quarantine import QuarantineTarget, replay
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from tests.support.merges import CHOICES, DRIVER, MERGE, SPARK
from tests.support.shares import first_each_time
from tests.support.trial import Trial, pipeline

COLUMNS = {
    "id": "bigint",
    "seen": "timestamp",
    "tags": "array<string>",
    "prices": "map<string,decimal(6,2)>",
    "lines": "array<struct<sku:string,days:array<date>>>",
    "who": "struct<name:string,at:timestamp>",
    "raw": "json",
}
FEW = {"rules": [{"name": "few", "check": "size(tags) < 3"}]}
SEEN = "2020-01-05T10:00:00Z"
NEW = '"seen":"2999-01-05T10:00Z"'
# Whether a variant is among the columns and what to prune by decide who writes a batch.
WAYS: dict[str, tuple[dict[str, str], list[str]]] = {
    DRIVER: ({}, ["id"]),
    SPARK: ({"any": "variant"}, ["id"]),
    MERGE: ({"any": "variant"}, []),
}


def value(number: int, *members: str) -> tuple[bytes, bytes]:
    return f"{number}".encode(), f'{{"id":{number},{",".join(members)}}}'.encode()


def declared(topic: str, way: str, **parts: Any) -> Pipeline:
    more, prune_by = WAYS[way]
    late = {"column": "seen", "bound": "1h", "action": "keep"}
    target = {"keys": ["id"], "partition_by": [], "prune_by": prune_by}
    return pipeline(topic, source={"columns": COLUMNS | more}, target=target, late=late, **parts)


def stored(trial: Trial, path: str = "") -> dict[int, dict[str, Any]]:
    rows = trial.spark.read.format("delta").load(f"{trial.table.uri}{path}")
    if path:
        rows = rows.select("event.*")
    if "any" in rows.columns:
        rows = rows.selectExpr("* EXCEPT (any)", "to_json(any) AS any")
    return {row["id"]: row.asDict(recursive=True) for row in rows.collect()}


@pytest.mark.parametrize("way", first_each_time(WAYS, 2))
def test_nested_columns_are_the_same_in_every_way_to_commit(
    trial: Trial, tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inserted, updated, late, turned away and replayed; the first run is a batch loop, the second a stream."""
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    trial.strategies = CHOICES[way]
    trial.pipeline = declared(trial.topic, way, quality=FEW)
    trial.table = location(str(tmp_path / "nested"))
    create_or_compare(trial.spark, trial.pipeline, trial.table, dry_run=False)
    first = [
        value(
            1, NEW, '"tags":["é",null]', '"prices":{"k":1.50,"":null}', '"raw": {"b": 1.50, "a":1e5 }', '"any":[1.50]'
        ),
        value(2, NEW, '"lines":[{"sku":"s","days":["2023-01-05",null],"x":1},null]', f'"who":{{"at":"{SEEN}"}}'),
        value(3, NEW, '"tags":["a","b","c"]', '"any":{"a":{}}'),
        value(4, NEW, '"tags":["a",1]'),
        value(5, f'"seen":"{SEEN}"', '"tags":[]', '"raw":"x"', '"any":null'),
    ]
    trial.broker.produce(trial.topic, first, partition=0)
    trial.run("batch")
    assert strategies(tmp_path / "reports") == {way}
    trial.broker.produce(
        trial.topic, [value(1, NEW, '"prices":{}', '"raw":[ ]', '"any":{}'), value(6, NEW)], partition=0
    )
    trial.run("stream")
    assert strategies(tmp_path / "reports") == {way}

    rows = stored(trial)
    assert sorted(rows) == [1, 2, 6]
    assert (rows[1]["tags"], rows[1]["prices"], rows[1]["raw"]) == (None, {}, "[ ]")
    assert rows[1].get("any", "{}") == "{}"
    assert rows[2]["lines"] == [{"sku": "s", "days": [date(2023, 1, 5), None]}, None]
    assert rows[2]["who"] == {"name": None, "at": datetime.fromisoformat(SEEN).replace(tzinfo=None)}
    assert [rows[6][name] for name in COLUMNS if name not in {"id", "seen"}] == [None] * 5
    late = stored(trial, "_late")
    assert (late[5]["tags"], late[5]["raw"], late[5].get("any")) == ([], '"x"', None)
    assert [row[2] for row in trial.quarantined()] == ["RULE_few", "WRONG_TYPE"]

    trial.pipeline = declared(trial.topic, way)
    replay(
        trial.spark,
        QuarantineTarget(trial.pipeline, trial.table),
        Selection(state=WAITING),
        overwrite=False,
        execute=True,
    )
    rows = stored(trial)
    assert sorted(rows) == [1, 2, 3, 6]
    assert (rows[3]["tags"], rows[3].get("any", '{"a":{}}')) == (["a", "b", "c"], '{"a":{}}')


def strategies(folder: Path) -> set[str]:
    """By which the last run has merged its batches."""
    (report,) = [read_report(path) for path in folder.glob("*.json")]
    return {batch.strategy for batch in report.last_batches}


def test_a_base_load_takes_nested_columns_as_they_are_declared(spark: SparkSession, tmp_path: Path) -> None:
    """By names and not by their order; a json column is JSON."""
    wanted = declared("t", SPARK).model_copy(update={"late": None})
    rows = spark.sql(
        """SELECT CAST(1 AS bigint) AS id, timestamp'2023-01-05 10:00:00' AS seen, array('é', NULL) AS tags,
        map('k', CAST(1.5 AS decimal(6,2))) AS prices, array(named_struct('sku', 's', 'days', array(date'2023-01-05')))
        AS lines, named_struct('name', 'n', 'at', timestamp'2023-01-05 10:00:00') AS who, '{"a": 1.50}' AS raw,
        parse_json('[1.50]') AS any"""
    )
    others = {
        "column 'who' is struct<at:timestamp,name:string>, not struct<name:string,at:timestamp>": rows.selectExpr(
            "* EXCEPT (who)", "named_struct('at', who.at, 'name', who.name) AS who"
        ),
        "column 'raw' is array<string>, not string": rows.selectExpr("* EXCEPT (raw)", "tags AS raw"),
        "column 'raw' of key id=1 is no JSON": rows.selectExpr("* EXCEPT (raw)", "'{\"a\": 1.50} x' AS raw"),
    }
    for number, (words, other) in enumerate(others.items()):
        other.write.parquet(f"{tmp_path}/{number}")
        with pytest.raises(UsageError) as caught:
            load_base(spark, wanted, location(f"{tmp_path}/{number}"), location(f"{tmp_path}/out"), overwrite=False)
        assert words in str(caught.value)
    rows.write.parquet(f"{tmp_path}/in")
    load_base(spark, wanted, location(f"{tmp_path}/in"), location(f"{tmp_path}/out"), overwrite=False)
    (found,) = spark.read.format("delta").load(f"{tmp_path}/out").selectExpr("*", "to_json(any) AS text").collect()
    assert (found["tags"], found["prices"], found["raw"]) == (["é", None], {"k": Decimal("1.50")}, '{"a": 1.50}')
    assert (found["who"]["name"], found["text"]) == ("n", "[1.5]")
