"""The rehearsal before the first read: it settles real records, and leaves no trace of it."""

from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from common.drivers import warm_up
from common.drivers.warm_up import ROUNDS
from common.engine.batch import BatchResult
from common.errors import StateError
from tests.support.trial import Trial, event


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def told(trial: Trial) -> list[str]:
    with capture_logs() as lines:
        warm_up.warm_up(trial.spark, trial.start())
    return [line["event"] for line in lines]


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def test_batches_of_the_newest_records_are_settled_beside_the_table_and_removed(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def settle(*given: Any, **more: Any) -> BatchResult:
        results.append(settled(*given, **more))
        return results[-1]

    results: list[BatchResult] = []
    settled = warm_up.run_batch
    monkeypatch.setattr(warm_up, "run_batch", settle)
    monkeypatch.setattr(warm_up, "LONGEST_SECONDS", 120)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json"), event(4, "b", 4.0)], partition=1)
    before = files(tmp_path)
    assert told(trial) == ["warmed up"]
    assert [(result.rows_read, result.dispositions["quarantined"]) for result in results] == [(3, 1)] * ROUNDS
    assert [(result.committed.outcome.inserted, result.committed.outcome.updated) for result in results] == [
        (2, 0),
        *[(0, 2)] * (ROUNDS - 1),
    ]
    assert files(tmp_path) == before
    assert (trial.position().seq, trial.quarantined()) == (0, [])
    trial.run("batch")
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.0), (4, "b", 4.0)}


def test_a_warm_up_that_fails_is_left(trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise StateError("planted", "none")

    monkeypatch.setattr(warm_up, "run_batch", fail)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    before = files(tmp_path)
    assert told(trial) == ["the warm-up was left"]
    assert files(tmp_path) == before


def test_there_is_none_where_much_waits_or_where_nothing_is_to_be_tried(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(trial) == []
    monkeypatch.setattr(warm_up, "SAMPLE_RECORDS", 2)
    trial.broker.produce(trial.topic, [event(number, "b", 3.0) for number in range(3)], partition=0)
    assert told(trial) == []
