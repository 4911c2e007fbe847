"""The run report: one file a run, by a schema that is written down, with figures that fit the table's own."""

import json
from pathlib import Path

import pytest

from common.engine.run_report import json_schema, read_report
from common.errors import ConfigurationError, StateError
from tests.support.commands import ROOT
from tests.support.trial import Trial, event, pipeline

STAGES = {"plan", "read", "decode", "validate", "deduplicate", "account", "beside", "merge", "check", "copy"}


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    monkeypatch.setenv("ALLUVIUM_RUN_ID", "run-of-this-test")
    return tmp_path / "reports"


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_run_leaves_every_count_in_one_file(trial: Trial, reports: Path, mode: str) -> None:
    trial.pipeline = pipeline(trial.topic, target={"sequence": "degrees"}, source={"null_value": "skip"})
    records = [
        event(1, "a", 0.5),
        event(2, "a", 9.0),
        event(3, "b", 3.0),
        event(3, "b", 2.0),
        (b"x", b"?"),
        (b"y", None),
    ]
    trial.broker.produce(trial.topic, records, partition=0)
    trial.run(mode)
    (file,) = reports.iterdir()
    assert file.name == "run-of-this-test.json"
    report = read_report(file)
    assert (report.mode, report.state, report.error, report.batches) == (mode, "done", None, 1)
    counts = {name: count for name, count in report.totals.model_dump().items() if count}
    assert counts == {
        "rows": 6,
        "merge": 3,
        "folded": 1,
        "quarantined": 1,
        "null": 1,
        "inserted": 1,
        "updated": 1,
        "superseded": 1,
    }
    (batch,) = report.last_batches
    assert (batch.epoch, batch.seq, batch.offsets) == (1, 1, {0: (0, 6), 1: (0, 0), 2: (0, 0)})
    assert batch.files.in_table == batch.files.candidates == 1
    assert batch.files.removed == 1
    assert batch.files.added >= 2
    assert set(batch.seconds) == STAGES
    assert report.seconds == batch.seconds


def test_a_run_that_fails_says_why(trial: Trial, reports: Path) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.broker.produce(trial.topic, [event(3, "b", 4.0)], partition=2)
    with pytest.raises(StateError):
        trial.run("batch")
    report = read_report(next(reports.iterdir()))
    assert (report.state, report.batches) == ("failed", 0)
    assert report.error is not None
    assert report.error.startswith("key id=3, part=b came from partitions 0 and 2")


def test_a_report_that_cannot_be_written_stops_the_run_before_its_first_batch(trial: Trial, reports: Path) -> None:
    reports.write_text("a file, not a folder")
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    with pytest.raises(ConfigurationError, match=r"cannot write the run report .*set ALLUVIUM_REPORT_DIR"):
        trial.run("batch")
    assert trial.version() == 0


def test_the_schema_is_written_down() -> None:
    """A change of the report is a change of docs/run-report.schema.json, and, unless it only adds, of the version."""
    assert json.loads((ROOT / "docs" / "run-report.schema.json").read_text()) == json.loads(json_schema())
