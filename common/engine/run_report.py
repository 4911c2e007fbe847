"""The run report: one JSON file a run, from its beginning on, so that a killed run leaves what it had done.

It is written at the start, after each of the first batches, then every few seconds while there are batches, and at the
end: what a killed run leaves is at most WRITE_SECONDS old.
"""

import json
import re
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import structlog
from pydantic import BaseModel, ConfigDict

from common.engine.batch import BatchResult
from common.errors import ConfigurationError, first_line
from common.model.offsets import Plan, by_topic
from common.settings.environment import report_dir, run_id
from common.settings.privacy import FOLDER_MODE, open_private
from common.stop import Stopped

log = structlog.get_logger()
# Reports are named by the run id of submit/. A killed run may leave a partial one.
OUR_NAME = re.compile(r"\d{8}T\d{6}Z-\d+\.(json|partial)")
# A stream may run for months: the report holds its totals, and the batches of its end.
BATCHES_KEPT = 100
# A stream may have several batches a second: to write the whole file after each would be most of its writing.
WRITE_SECONDS = 5.0
WRITTEN_AT_ONCE = 10
# Reports in the folder; a job that starts removes the oldest above that number.
REPORTS_KEPT = 2000


class Part(BaseModel):
    """A part of the report. Keys that are not declared are errors, as in its schema, docs/run-report.schema.json."""

    model_config = ConfigDict(extra="forbid")


class Counts(Part):
    """Records by their disposition, offsets without a record, and the rows to merge by their action."""

    rows: int = 0
    merge: int = 0
    folded: int = 0
    late: int = 0
    quarantined: int = 0
    null: int = 0
    gaps: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    superseded: int = 0
    absent: int = 0

    def plus(self, other: "Counts") -> "Counts":
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields})


class Files(Part):
    """Numbers of files: in the table before the commit, candidates of the merge, added and removed by it."""

    in_table: int
    candidates: int
    added: int
    removed: int


class Batch(Part):
    """One transaction."""

    epoch: int
    seq: int
    ended: datetime
    offsets: dict[int, tuple[int, int]]
    counts: Counts
    files: Files
    seconds: dict[str, float]
    # The merge strategy, and why those before it declined.
    strategy: str = ""
    declined: dict[str, str] = {}
    # The table, and the offsets by topic; `offsets` has them where there is one topic.
    table: str = ""
    topics: dict[str, dict[int, tuple[int, int]]] = {}


class TargetTotals(Part):
    """The totals of a run for one of its tables."""

    pipeline: str
    table: str
    batches: int = 0
    totals: Counts = Counts()


class Report(Part):
    """The whole file."""

    alluvium_run_report: Literal[1] = 1
    run_id: str
    mode: str
    pipeline: str
    table: str
    topic: str
    started: datetime
    ended: datetime | None = None
    state: Literal["running", "done", "failed", "stopped"] = "running"
    error: str | None = None
    batches: int = 0
    totals: Counts = Counts()
    seconds: dict[str, float] = {}
    last_batches: list[Batch] = []
    # Each table of the run; `pipeline` and `table` name the first one, and the totals are those of all.
    targets: list[TargetTotals] = []


class RunReport:
    """The report of one run, on disk from its beginning."""

    def __init__(self, *, mode: str, tables: Sequence[tuple[str, str]], topic: str) -> None:
        """Begin the report of a run into these tables, each given with its pipeline."""
        pipeline, table = tables[0]
        self._report = Report(
            run_id=run_id(),
            mode=mode,
            pipeline=pipeline,
            table=table,
            topic=topic,
            started=datetime.now(UTC),
            targets=[TargetTotals(pipeline=pipeline, table=table) for pipeline, table in tables],
        )
        self._path = report_dir() / f"{run_id()}.json"
        # Batches come in a thread of Spark's, the timer in one of its own.
        self._lock = threading.RLock()
        self._timer: threading.Timer | None = None
        self._failure: ConfigurationError | None = None
        self._write()
        remove_oldest(self._path.parent)

    @property
    def batches(self) -> int:
        return self._report.batches

    def add(self, result: BatchResult, number: int = 0) -> None:
        """Add a batch of the target with this number."""
        with self._lock:
            self._add(result, self._report.targets[number])
            if self._failure is not None:
                raise self._failure
            if self._report.batches <= WRITTEN_AT_ONCE:
                self._write()
            elif self._timer is None:
                self._timer = threading.Timer(WRITE_SECONDS, self._write_late)
                self._timer.daemon = True
                self._timer.start()

    def _add(self, result: BatchResult, target: TargetTotals) -> None:
        report, batch = self._report, as_batch(result, target.table)
        for each in (report, target):
            each.batches += 1
            each.totals = each.totals.plus(batch.counts)
        for stage, seconds in batch.seconds.items():
            report.seconds[stage] = round(report.seconds.get(stage, 0.0) + seconds, 3)
        report.last_batches = [*report.last_batches, batch][-BATCHES_KEPT:]

    def _write_late(self) -> None:
        """Write the report in the timer's thread. The next batch raises the error of a failed write."""
        with self._lock:
            try:
                if self._timer is not None:
                    self._write()
            except ConfigurationError as error:
                self._failure = error

    def close(self, error: BaseException | None) -> None:
        with self._lock:
            self._report.ended = datetime.now(UTC)
            self._report.state = state_after(error)
            self._report.error = first_line(error) if self._report.state == "failed" and error is not None else None
            self._write()
        log.info("report", state=self._report.state, batches=self._report.batches, path=str(self._path))

    def _write(self) -> None:
        self._timer = None
        partial = self._path.with_suffix(".partial")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
            with open_private(partial, "w") as file:
                file.write(self._report.model_dump_json(indent=1) + "\n")
            partial.replace(self._path)
        except OSError as error:
            raise ConfigurationError(
                f"cannot write the run report {self._path} ({error.strerror})", "set ALLUVIUM_REPORT_DIR"
            ) from error


def remove_oldest(folder: Path, kept: int = REPORTS_KEPT) -> None:
    """Remove the oldest reports, by the names that submit/ gives them. A running job writes its own again."""
    ours = [path for path in folder.iterdir() if OUR_NAME.fullmatch(path.name)]
    for path in sorted(ours, key=lambda path: path.name, reverse=True)[kept:]:
        # A file of another user stays.
        with suppress(OSError):
            path.unlink()


def state_after(error: BaseException | None) -> Literal["done", "failed", "stopped"]:
    if error is None:
        return "done"
    return "stopped" if isinstance(error, Stopped) else "failed"


def as_batch(result: BatchResult, table: str) -> Batch:
    topics = ranges(result.planned)
    return Batch(
        epoch=result.position.epoch,
        seq=result.position.seq,
        ended=datetime.now(UTC),
        offsets=next(iter(topics.values())) if len(topics) == 1 else {},
        counts=Counts(**result.figures()),
        files=Files(**asdict(result.committed.files)),
        seconds=result.seconds,
        strategy=result.committed.strategy,
        declined=dict(result.committed.declined),
        table=table,
        topics=topics,
    )


def ranges(planned: Plan) -> dict[str, dict[int, tuple[int, int]]]:
    """Return the first offset and the one after the last, by topic and partition."""
    ends = by_topic(planned.end)
    return {
        topic: {partition: (first, ends[topic][partition]) for partition, first in offsets.items()}
        for topic, offsets in by_topic(planned.start).items()
    }


def json_schema() -> str:
    """Return the content of docs/run-report.schema.json."""
    return json.dumps(Report.model_json_schema(), indent=1) + "\n"


def read_report(path: Path) -> Report:
    return Report.model_validate_json(path.read_text())
