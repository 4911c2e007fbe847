"""Late records and deletes of a pipeline whose columns change their types, or whose key changes.

Nothing fails, and what was written before is still read.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable

from common.delta.quarantine import Selection
from common.delta.side_tables import WAITING
from common.operations.base_load import load_base
from common.operations.maintenance import purge_deleted_keys
from common.operations.quarantine import QuarantineTarget, replay
from common.operations.rewind import act_on_proposal, at_choice
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from tests.support.frames import frame
from tests.support.shares import first_each_time
from tests.support.trial import Trial, pipeline

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
BASE = [(1, "a", 1.0, LONG_AGO), (2, "a", 2.0, LONG_AGO), (3, "b", 3.0, LONG_AGO)]


@pytest.fixture
def base(trial: Trial, tmp_path: Path) -> str:
    folder = str(tmp_path / "changing")
    rows = frame(trial.spark, BASE, "id bigint, part string, degrees double, at timestamp")
    rows.coalesce(1).write.parquet(folder)
    return folder


def changed(trial: Trial, base: str, declared: Pipeline) -> None:
    """The pipeline's file is another one, the table was loaded anew as it says, and goes on at the topic's end."""
    trial.pipeline = declared
    load_base(trial.spark, declared, location(base), trial.table, overwrite=True)
    act_on_proposal(trial.spark, trial.inputs(), at_choice("end"), execute=True)


def record(value: dict[str, Any], **key: Any) -> tuple[bytes, bytes]:
    return json.dumps(key).encode(), json.dumps(value).encode()


def late_of(trial: Trial, columns: dict[str, str], **target: Any) -> Pipeline:
    return pipeline(
        trial.topic,
        source={"columns": columns | {"at": "timestamp"}},
        target=target,
        late={"column": "at", "bound": "1h", "action": "keep"},
    )


def kept_late(trial: Trial) -> list[dict[str, Any]]:
    """The events, without what is null in them."""
    rows = trial.spark.read.format("delta").load(f"{trial.table.uri}_late").orderBy("offset").collect()
    events = [row["event"].asDict() for row in rows]
    return [
        {name: value for name, value in event.items() if value is not None and not name.startswith("at")}
        for event in events
    ]


@pytest.mark.parametrize("mode", first_each_time(["batch", "stream"]))
def test_late_records_are_kept_whatever_type_their_columns_have_now(trial: Trial, base: str, mode: str) -> None:
    columns = {"id": "bigint", "part": "string", "degrees": "double"}
    steps: list[tuple[dict[str, str], dict[str, Any], dict[str, Any]]] = [
        (columns, {"id": 1, "part": "a", "degrees": 1.5}, {"id": 1, "part": "a", "degrees": 1.5}),
        (
            columns | {"degrees": "string"},
            {"id": 2, "part": "a", "degrees": "cold"},
            {"id": 2, "part": "a", "degrees:string": "cold"},
        ),
        (
            {"id": "string", "part": "string"},
            {"id": "x3", "part": "a"},
            {"id:string": "x3", "part": "a"},
        ),
        (columns, {"id": 4, "part": "a", "degrees": 4.5}, {"id": 4, "part": "a", "degrees": 4.5}),
    ]
    for declared, sent, _ in steps:
        changed(trial, base, late_of(trial, declared))
        trial.broker.produce(trial.topic, [record(sent | {"at": "2020-01-01T00:00:00Z"}, id=sent["id"])], partition=0)
        trial.run(mode)
    assert kept_late(trial) == [kept for _, _, kept in steps]
    assert trial.quarantined() == []


def deleting(trial: Trial, kind: str, keys: list[str], *, strict: bool = False) -> Pipeline:
    rules = [{"name": "warm", "check": "degrees >= 0"}] if strict else []
    return pipeline(
        trial.topic,
        source={"columns": {"id": kind, "part": "string", "degrees": "double"}, "null_value": "delete"},
        target={"keys": keys, "lineage": True},
        quality={"rules": rules},
    )


def remembered(trial: Trial) -> list[dict[str, Any]]:
    rows = trial.spark.read.format("delta").load(f"{trial.table.uri}_deleted_keys").orderBy("_alluvium.offset")
    return [{name: value for name, value in row["key"].asDict().items() if value is not None} for row in rows.collect()]


CHANGES: dict[str, tuple[tuple[str, list[str]], tuple[str, list[str]], Any, list[dict[str, Any]]]] = {
    "a column leaves the key": (
        ("bigint", ["id", "part"]),
        ("bigint", ["id"]),
        1,
        [{"id": 1, "part": "a"}, {"id": 2}, {"id": 9}],
    ),
    "a column joins the key": (
        ("bigint", ["id"]),
        ("bigint", ["id", "part"]),
        1,
        [{"id": 1}, {"id": 2, "part": "a"}, {"id": 9, "part": "a"}],
    ),
    "the key has another type": (
        ("bigint", ["id", "part"]),
        ("string", ["id", "part"]),
        "1",
        [{"id": 1, "part": "a"}, {"id:string": "2", "part": "a"}, {"id:string": "9", "part": "a"}],
    ),
}


@pytest.mark.parametrize("change", first_each_time(CHANGES))
def test_17_deletes_are_remembered_under_every_key_that_the_pipeline_had(
    trial: Trial, base: str, change: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two records wait in quarantine; the row of the first was deleted after it, under the key of that time."""
    before, after, identity, memory = CHANGES[change]
    kind = type(identity)
    changed(trial, base, deleting(trial, *before, strict=True))
    waiting = [
        record({"id": kind(number), "part": part, "degrees": -1.0}, id=number, part=part)
        for number, part in ((1, "a"), (7, "a"))
    ]
    trial.broker.produce(trial.topic, [*waiting, (json.dumps({"id": 1, "part": "a"}).encode(), None)], partition=0)
    trial.run("batch")
    assert len(trial.quarantined()) == 2

    changed(trial, base, deleting(trial, *after))
    for number in (2, 9):
        gone = (json.dumps({"id": kind(number), "part": "a"}).encode(), None)
        trial.broker.produce(trial.topic, [gone], partition=0)
        trial.run("batch")
    assert remembered(trial) == memory

    DeltaTable.forPath(trial.spark, trial.table.uri).delete("id = 1")
    place = QuarantineTarget(trial.pipeline, trial.table)
    replay(trial.spark, place, Selection(state=WAITING), overwrite=False, execute=True)
    told = capsys.readouterr().out
    assert "1 merged" in told
    assert "1 superseded: the table has something newer of the key, a row or a delete" in told
    assert {str(identity) for identity, _, _ in trial.rows()} == {"3", "7"}

    purge_deleted_keys(trial.spark, trial.inputs(), execute=True)
    assert "0 of 3 remembered deletes are no longer needed" in capsys.readouterr().out
