"""When a run report is written: at once where batches are few, every few seconds where they are many."""

import stat
from pathlib import Path

import pytest

from common.engine import run_report
from common.engine.batch import BatchResult
from common.engine.commit import Committed
from common.engine.commit_metrics import FilesTouched, Outcome
from common.engine.run_report import WRITTEN_AT_ONCE, RunReport, read_report, remove_oldest
from common.model.offsets import Plan
from common.model.position import Position
from tests.support.partitions import of_t
from tests.support.waiting import await_true


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    monkeypatch.setenv("ALLUVIUM_RUN_ID", "20260101T000000Z-7")
    return tmp_path / "reports"


def result(seq: int) -> BatchResult:
    committed = Committed(Outcome(1, 0, 0, 0, 0), FilesTouched(1, 1, 1, 1), "driver rewrite", {})
    position = Position("trial", 1, seq, {"t": "an id"}, of_t({0: seq}), "run-1")
    dispositions = {"merge": 1, "folded": 0, "late": 0, "quarantined": 0, "null": 0}
    return BatchResult(position, Plan(of_t({0: seq - 1}), of_t({0: seq})), dispositions, 0, committed, {"read": 0.1})


def begun() -> RunReport:
    return RunReport(mode="stream", tables=[("trial", "/t")], topic="t")


def test_many_batches_are_written_together_and_none_is_kept_back_for_long(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_report, "WRITE_SECONDS", 0.5)
    report, file = begun(), reports / "20260101T000000Z-7.json"
    written = set()
    for seq in range(1, 1001):
        report.add(result(seq))
        written.add(file.stat().st_mtime_ns)
        if seq == WRITTEN_AT_ONCE:
            assert read_report(file).batches == seq
    assert len(written) < 200
    await_true(lambda: read_report(file).batches == 1000, "the last batch")
    assert read_report(file).state == "running"
    report.add(result(1001))
    report.close(None)
    assert (read_report(file).batches, read_report(file).state) == (1001, "done")


def test_a_report_is_its_owners_alone(reports: Path) -> None:
    begun()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (reports, *reports.iterdir())] == [0o700, 0o600]


def test_the_oldest_reports_go_and_nothing_else(reports: Path) -> None:
    reports.mkdir()
    named = [f"2026010{day}T000000Z-{day}.json" for day in range(1, 7)]
    for name in [*named, "20250101T000000Z-1.partial", "notes.json", "nightly.json"]:
        (reports / name).touch()
    remove_oldest(reports, kept=4)
    assert {path.name for path in reports.iterdir()} == {*named[2:], "notes.json", "nightly.json"}
