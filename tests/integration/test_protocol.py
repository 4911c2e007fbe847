"""The protocol of docs/protocol.md where no failure's test shows it already."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from common.delta.open_ledger import TXN_APP_ID, TXN_VERSION, USER_METADATA
from common.engine.run_report import read_report
from common.errors import StateError
from common.merge import delta_merge
from common.operations.rewind import act_on_proposal, at_choice
from common.settings.environment import run_id
from tests.support.trial import Trial, event

OURS = (TXN_APP_ID, TXN_VERSION, USER_METADATA)


def actions(table: str, version: int) -> dict[str, Any]:
    """A commit as it stands in a table's log; of several actions of a kind, the last."""
    log = Path(table.removeprefix("file://")) / "_delta_log" / f"{version:020d}.json"
    return {kind: action for line in log.read_text().splitlines() for kind, action in json.loads(line).items()}


def confs(session: SparkSession) -> list[str | None]:
    return [session.conf.get(key, None) for key in OURS]


@pytest.mark.usefixtures("by_merge")
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_the_commit_carries_the_transaction_and_the_position(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str
) -> None:
    """On the session that owns the table, for one commit; the side table's has none of it that Delta would act on."""
    sessions: list[SparkSession] = []
    during: list[list[str | None]] = []

    def merge_changes(table: Any, changes: DataFrame, *given: Any) -> None:
        sessions.append(table.toDF().sparkSession)
        during.append(confs(sessions[-1]))
        merge(table, changes, *given)

    merge = delta_merge.merge_changes
    monkeypatch.setattr(delta_merge, "merge_changes", merge_changes)
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    position = trial.run(mode)

    committed = actions(trial.table.uri, 1)
    assert committed["txn"]["appId"] == "alluvium:trial:1"
    assert committed["txn"]["version"] == 1
    metadata = json.loads(committed["commitInfo"]["userMetadata"])
    assert metadata["offsets"] == {"0": 3, "1": 0, "2": 0}
    assert metadata["topic_id"] == trial.inputs().topic.ids()[trial.topic]
    copied = Path(str(trial.table)) / "_alluvium" / "trial" / "1-1.json"
    assert copied.read_text() == committed["commitInfo"]["userMetadata"] == position.to_metadata()

    assert during == [["alluvium:trial:1", "1", position.to_metadata()]]
    assert confs(sessions[0]) == confs(trial.spark) == [None, None, None]

    assert "txn" not in actions(f"{trial.table.uri}_quarantine", 0)
    assert [row[:2] for row in trial.quarantined()] == [(1, 1)]

    report = read_report(tmp_path / "reports" / f"{run_id()}.json")
    assert report.state == "done"
    assert (report.totals.rows, report.totals.inserted, report.totals.updated, report.totals.quarantined) == (
        3,
        1,
        1,
        1,
    )


def test_nothing_to_merge_is_an_empty_append_with_the_same_three(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [(b"x", b"not json")] * 3, partition=1)
    position = trial.run("batch")
    assert position.offsets[trial.partition(1)] == 3
    committed = actions(trial.table.uri, 1)
    assert (committed["txn"]["appId"], committed["txn"]["version"]) == (position.app_id, 1)
    assert committed["commitInfo"]["userMetadata"] == position.to_metadata()
    assert committed["commitInfo"]["operation"] == "WRITE"
    assert not {"add", "remove"} & set(committed)
    assert confs(trial.spark) == [None, None, None]
    assert len(trial.quarantined()) == 3
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0)}


def test_an_epoch_begins_with_an_empty_append(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    act_on_proposal(trial.spark, trial.inputs(), at_choice("end"), execute=True)
    committed = actions(trial.table.uri, 1)
    assert (committed["txn"]["appId"], committed["txn"]["version"]) == ("alluvium:trial:2", 0)
    assert json.loads(committed["commitInfo"]["userMetadata"])["offsets"] == {"0": 1, "1": 0, "2": 0}
    assert "add" not in committed
    assert trial.position().offsets[trial.partition(0)] == 1


def test_an_overwrite_above_the_position_is_refused(trial: Trial) -> None:
    rows = trial.spark.read.format("delta").load(trial.table.uri).where("id = 1").localCheckpoint()
    rows.write.format("delta").mode("overwrite").save(trial.table.uri)
    for mode in ("batch", "stream"):
        with pytest.raises(StateError, match=r"\(WRITE\) replaced rows.*submit/epoch\.sh --at beginning"):
            trial.run(mode)
    assert trial.version() == 1
