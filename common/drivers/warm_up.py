"""A rehearsal before the first read of a job that stays: a cold JVM takes seconds for a batch, a warm one tenths.

A few records of the topic are settled into an empty table of the same pipeline, in a temporary folder, some times over,
by the very steps that a batch takes. Nothing else is touched: no position, no report, no table of the user.
"""

import logging
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from common.account.times import StageTimes
from common.arrow import NOT_FOR_PYTHON
from common.drivers.start import Start
from common.errors import AlluviumError, first_line
from common.faults import is_wanted
from common.jvm import remember_classes
from common.ledger.delta import open_ledger
from common.pipeline.batch import Settling, run_batch
from common.pipeline.few import FEW_RECORDS
from common.pipeline.new_table import create_table
from common.plan.fetch import Record
from common.plan.offsets import Available, Plan, plan
from common.read.few import as_rows
from common.settings.locations import location

log = structlog.get_logger()
ROUNDS = 4
SAMPLE_RECORDS = 100
# Whatever a rehearsal meets, the job meets it again, and knows better what to do.
FAILURES = (AlluviumError, PySparkException, Py4JError, OSError, RuntimeError, AttributeError, *NOT_FOR_PYTHON)


def warm_up(spark: SparkSession, start: Start) -> None:
    """Rehearse, unless much is waiting: a first batch of many records is long because of them, and warms the JVM as
    well. A failure is no failure of the job."""
    # Executors on other machines would not see the folder, or leave files in one of theirs.
    is_local = str(spark.sparkContext.master).startswith("local")
    if is_wanted() or not is_local or waiting(start) > FEW_RECORDS:
        return
    began = time.monotonic()
    try:
        with quietly():
            rounds = rehearse(spark, start)
    except FAILURES as error:
        log.info("the warm-up was left", reason=first_line(error))
        return
    if rounds:
        log.info("warmed up", rounds=rounds, seconds=round(time.monotonic() - began, 1))


def waiting(start: Start) -> int:
    return plan(start.position.offsets, start.available, FEW_RECORDS + 1).records


@contextmanager
def quietly() -> Iterator[None]:
    """What a batch logs would be taken for news of the user's table."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def rehearse(spark: SparkSession, start: Start) -> int:
    """Gives how many batches were settled: none where the topic has no records to try."""
    records = start.settling.topic.fetcher.fetch(sample(start.available))
    if not records:
        return 0
    remember_classes(spark)
    with tempfile.TemporaryDirectory(prefix="warm-up-") as folder:
        table = location(str(Path(folder) / "table"))
        create_table(spark, start.settling.pipeline, table)
        settle_again_and_again(spark, replace(start.settling, table=table), records)
    return ROUNDS


def sample(available: Available) -> Plan:
    """The newest records of the partition that has most of them."""
    partition = max(available.ends, key=lambda each: available.ends[each] - available.earliest[each])
    end = available.ends[partition]
    return Plan({partition: max(available.earliest[partition], end - SAMPLE_RECORDS)}, {partition: end})


def settle_again_and_again(spark: SparkSession, settling: Settling, records: Sequence[Record]) -> None:
    """The same events under ever new offsets: first they are inserted, then updated."""
    position = open_ledger(spark, settling.table.uri, settling.pipeline.name).position()
    for number in range(ROUNDS):
        first = number * len(records)
        renumbered = [record._replace(partition=0, offset=first + n) for n, record in enumerate(records)]
        planned = Plan({0: first}, {0: first + len(records)})
        rows = as_rows(spark, renumbered)
        position = run_batch(settling, position, planned, rows, StageTimes(), fetched=True).position
