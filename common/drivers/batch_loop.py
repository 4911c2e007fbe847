"""The batch loop: plan, read the planned offsets in batch mode, settle, go on; wait while the topic is quiet."""

import os
import sys
import time
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from common import stop
from common.drivers.run import Run
from common.engine.stage_timer import StageTimer
from common.engine.start import RunState
from common.model.offsets import Available
from common.present.console import announce_schemas, print_rows


@dataclass(frozen=True)
class IdlePolicy:
    """The length of one wait while a topic is quiet, and the quiet time after which the loop ends."""

    wait_seconds: float = 60
    give_up_seconds: float = 180


class BatchLoop:
    """One run of the loop."""

    def __init__(self, spark: SparkSession, *starts: RunState) -> None:
        self.run = Run(spark, starts, mode="batch")
        self._first = starts[0].available

    def drain(self) -> None:
        """Settle everything up to the ends that the topic had when this run began, then stop: the form for cron."""
        with self.run.reported():
            self._announce()
            while self._settle(self._first):
                stop.check()

    def follow(self, patience: IdlePolicy) -> None:
        """Settle what comes, until the topic has been quiet for as long as the idle policy allows."""
        with self.run.reported():
            self._announce()
            available, quiet = self._first, 0.0
            while (settled := self._settle(available)) or quiet < patience.give_up_seconds:
                stop.check()
                quiet = 0.0 if settled else quiet + self._wait(patience)
                available = self.run.topic.available()
        print(f"Waiting for {format_wait(patience.give_up_seconds, 'min')} for messages, aborting...", flush=True)

    def _announce(self) -> None:
        announce_schemas(self.run.read(self.run.plan(self._first).planned), self.run.pipelines)

    def _settle(self, available: Available) -> bool:
        """Settle the next read; False where there is none."""
        times = StageTimer()
        with times.stage("plan"):
            shared = self.run.plan(available)
        if shared.planned.records:
            self.run.settle(shared, self.run.spark, partial(self.run.read, shared.planned), times)
        return shared.planned.records > 0

    def _wait(self, patience: IdlePolicy) -> float:
        print_rows(0)
        print(f"Waiting for {format_wait(patience.wait_seconds)} to see if messages come...", flush=True)
        pause(patience.wait_seconds)
        return patience.wait_seconds


def format_wait(seconds: float, minute: str = "minute") -> str:
    """Write a wait as `1 minute`, `3 min` or `5 seconds`: whole minutes as minutes."""
    if seconds % 60:
        return f"{seconds:g} seconds"
    return f"{seconds / 60:g} {minute}"


def pause(seconds: float) -> None:
    """Wait until the time is over or a signal has come.

    Exit where the parent process has died, because an orphan would go on holding the table's lock.
    """
    parent = os.getppid()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if os.getppid() != parent:
            sys.exit("error: the process that started this one is gone; start the job again")
        stop.check()
        time.sleep(min(left, 0.5))
