"""The batch loop: plan, read the planned offsets in batch mode, settle, go on; wait while the topic is quiet."""

import os
import sys
import time
from dataclasses import dataclass

import structlog
from pyspark.sql import SparkSession

from common.drivers.announce import announce_schemas, print_rows
from common.drivers.start import Start, take_over
from common.pipeline.batch import run_batch
from common.plan.offsets import Available, Plan, plan
from common.read.kafka import read_range

log = structlog.get_logger()


@dataclass(frozen=True)
class Patience:
    """How long to wait at a time when a topic is quiet, and after how long to give up."""

    wait_seconds: float = 60
    give_up_seconds: float = 180


class BatchLoop:
    """One run of the loop; `position` is always the last that the table has committed."""

    def __init__(self, spark: SparkSession, start: Start) -> None:
        take_over(spark, start)
        self._spark = spark
        self._settling = start.settling
        self._topic = start.settling.topic
        self._first = start.available
        self.position = start.position

    def drain(self) -> None:
        """Settle everything up to the ends that the topic had when this run began, then stop: the form for cron."""
        planned = self._plan(self._first)
        self._announce(planned)
        while planned.records:
            self._settle(planned)
            planned = self._plan(self._first)

    def follow(self, patience: Patience) -> None:
        """Settle what comes, until nothing has come for as long as patience lasts."""
        planned = self._plan(self._first)
        self._announce(planned)
        quiet = 0.0
        while planned.records or quiet < patience.give_up_seconds:
            if planned.records:
                self._settle(planned)
                quiet = 0.0
            else:
                print_rows(0)
                print(f"Waiting for {spoken(patience.wait_seconds)} to see if messages come...", flush=True)
                pause(patience.wait_seconds)
                quiet += patience.wait_seconds
            planned = self._plan(self._topic.available())
        print(f"Waiting for {spoken(patience.give_up_seconds, 'min')} for messages, aborting...", flush=True)

    def _plan(self, available: Available) -> Plan:
        return plan(self.position.offsets, available, self._settling.pipeline.source.max_records_per_batch)

    def _announce(self, planned: Plan) -> None:
        announce_schemas(
            read_range(self._spark, self._topic.brokers, self._topic.name, planned), self._settling.pipeline
        )

    def _settle(self, planned: Plan) -> None:
        rows = read_range(self._spark, self._topic.brokers, self._topic.name, planned)
        result = run_batch(self._settling, self.position, planned, rows)
        self.position = result.position
        print_rows(result.rows_read)
        log.info("settled", seq=result.position.seq, **result.figures())


def spoken(seconds: float, minute: str = "minute") -> str:
    """`1 minute`, `3 min`, `5 seconds`: whole minutes as minutes."""
    if seconds % 60:
        return f"{seconds:g} seconds"
    return f"{seconds / 60:g} {minute}"


def pause(seconds: float) -> None:
    """Wait, but not for a parent that has died: an orphan would go on holding the table's lock."""
    parent = os.getppid()
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if os.getppid() != parent:
            sys.exit("error: the process that started this one is gone; start the job again")
        time.sleep(min(left, 0.5))
