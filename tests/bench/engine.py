"""Ours: the engine itself, as a long-lived run that settles one more batch."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession

from common.drivers.batch_loop import BatchLoop
from common.drivers.stream import Stream, Trigger
from common.engine.run_report import Batch, read_report
from common.engine.start import Inputs, start_from_table
from common.merge.strategies import STRATEGIES
from common.merge.strategy import MergeStrategy
from common.settings.environment import run_id
from common.settings.locations import location
from tests.bench.cells import FEED
from tests.bench.contenders import DeltaCopy, Place, Sent, Timing, set_properties, timed, tuned_session
from tests.bench.session import activate

Mode = Literal["batch", "stream"]


class Engine:
    """The drivers of one table, in this process, with their report where the harness finds it."""

    def __init__(self, spark: SparkSession, inputs: Inputs, reports: Path) -> None:
        self._session, self._inputs, self._reports = tuned_session(spark), inputs, reports

    def loop(self) -> BatchLoop:
        with self._reporting():
            return BatchLoop(self._session, start_from_table(self._session, self._inputs))

    def stream(self) -> Stream:
        with self._reporting():
            return Stream(self._session, start_from_table(self._session, self._inputs))

    def batches(self) -> list[Batch]:
        """Those of the driver that was made last."""
        return read_report(self._reports / f"{run_id()}.json").last_batches

    def activate(self) -> None:
        activate(self._session)

    def set(self, key: str, value: str) -> None:
        self._session.conf.set(key, value)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        self.activate()
        os.environ["ALLUVIUM_REPORT_DIR"] = str(self._reports)
        with quiet():
            yield


@contextmanager
def quiet() -> Iterator[None]:
    """Drivers tell what they do on stdout."""
    with redirect_stdout(StringIO()):
        yield


class Ours:
    """From plan to report, by the clock in batch mode.

    A stream's start and stop are no part of a batch: in stream mode `seconds` are those of the batch alone, and `wall`
    has everything.
    """

    is_bounded = True
    in_jvm = True
    table: DeltaCopy

    def __init__(self, mode: Mode, strategies: Sequence[MergeStrategy] = STRATEGIES) -> None:
        self.name, self._mode, self._strategies = f"ours-{mode}", mode, strategies

    def prepare(self, place: Place) -> None:
        self.table = self._copy(place)
        inputs = Inputs(place.pipeline, location(str(self.table.path)), place.topic, strategies=self._strategies)
        self._engine = Engine(place.spark, inputs, place.folder / f"{self.name}-reports")
        if self._mode == "batch":
            self._loop = self._engine.loop()

    def _copy(self, place: Place) -> DeltaCopy:
        return DeltaCopy(place, self.name)

    def run(self, sent: Sent) -> Timing:
        timing = self._loop_once() if self._mode == "batch" else self._stream_once()
        settled = self._engine.batches()[-1]
        if settled.counts.merge != len(sent.rows):
            raise AssertionError(f"{settled.counts.merge} of {len(sent.rows)} rows were merged")
        timing.stages, timing.candidates = settled.seconds, settled.files.candidates
        return timing

    def _loop_once(self) -> Timing:
        self._engine.activate()
        with quiet(), timed() as timing:
            self._loop._settle(self._loop.run.topic.available())
        return timing

    def _stream_once(self) -> Timing:
        stream = self._engine.stream()
        settle, of_batch = stream.run.settle, Timing()

        def timed_settle(*batch: Any) -> None:
            nonlocal of_batch
            with timed() as of_batch:
                settle(*batch)

        stream.run.settle = timed_settle  # type: ignore[assignment, method-assign]
        with quiet(), timed() as timing:
            stream.follow(Trigger())
        timing.seconds = of_batch.wall
        return timing


class OursWithFeed(Ours):
    """Ours in batch mode, on a table that keeps a change feed."""

    def __init__(self) -> None:
        super().__init__("batch")
        self.name = FEED

    def _copy(self, place: Place) -> DeltaCopy:
        copy = super()._copy(place)
        set_properties(place, copy, {"delta.enableChangeDataFeed": "true"})
        return copy
