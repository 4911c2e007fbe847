"""Warm up the JVM of a job that keeps running: a cold JVM takes seconds for a batch, a warm one tenths.

It settles a few records of the topic several times into an empty table in a temporary folder, by the same steps as a
batch. That table has the schema and the properties of the user's table. Nothing else is touched: no position, no
report, no table of the user.
"""

import json
import logging
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from common.engine.batch import run_batch
from common.engine.context import BatchContext
from common.engine.source import RowsSource
from common.engine.stage_timer import StageTimer
from common.engine.start import RunState
from common.engine.table_fit import TableFit
from common.errors import AlluviumError, first_line
from common.faults import is_wanted
from common.kafka.consumer import Record
from common.model.offsets import Available, Plan, plan
from common.model.position import Position, first_position
from common.rules.compare import CONVERSION_ERRORS
from common.settings.locations import Location, location
from common.spark.fetched import rows_of
from common.spark.jvm import cache_jvm_classes, delta_snapshot

log = structlog.get_logger()
ROUNDS = 6
# No round begins after that time.
LONGEST_SECONDS = 5.0
SAMPLE_RECORDS = 100
# The job meets such a failure again, and has the right error for it.
FAILURES = (AlluviumError, PySparkException, Py4JError, OSError, RuntimeError, AttributeError, *CONVERSION_ERRORS)


def warm_up(spark: SparkSession, start: RunState) -> None:
    """Rehearse, unless many records are waiting: settling them warms the JVM as well.

    A failed rehearsal does not fail the job.
    """
    # Executors on other machines would not see the folder, or leave files in one of theirs.
    is_local = str(spark.sparkContext.master).startswith("local")
    if is_wanted() or not is_local or waiting(start) > SAMPLE_RECORDS:
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


def waiting(start: RunState) -> int:
    return plan(start.position.offsets, start.available, SAMPLE_RECORDS + 1).records


@contextmanager
def quietly() -> Iterator[None]:
    """Disable log lines up to warnings for the block, because they would look like news of the user's table."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def rehearse(spark: SparkSession, start: RunState) -> int:
    """Settle a sample of the topic several times, and return the number of batches; 0 without records."""
    records = start.context.topic.fetcher.fetch(sample(start.available), start.context.limits)
    if not records:
        return 0
    cache_jvm_classes(spark)
    with tempfile.TemporaryDirectory(prefix="warm-up-") as folder:
        table = location(str(Path(folder) / "table"))
        position = create_alike(spark, start.context, table)
        fit = TableFit(spark, start.context.pipeline, table)
        fit.apply(spark)
        return settle_again_and_again(replace(start.context, table=table, fit=fit), position, spark, records)


def create_alike(spark: SparkSession, context: BatchContext, table: Location) -> Position:
    """Create an empty table like the user's, at the beginning of an epoch.

    Its log is two files, and Spark would need longer to write them than for the first batch.
    """
    snapshot = delta_snapshot(spark, context.table.uri)
    protocol = json.loads(snapshot.protocol().json())["protocol"]
    metadata = json.loads(snapshot.metadata().json())["metaData"] | {"id": str(uuid.uuid4())}
    position = first_position(context.pipeline.name, 1, context.topic_ids)
    now = int(time.time() * 1000)
    info = {"timestamp": now, "inCommitTimestamp": now, "operation": "WRITE", "operationParameters": {}}
    transaction = {"appId": position.app_id, "version": position.seq}
    actions = [
        {"commitInfo": info | {"userMetadata": position.to_metadata()}},
        {"metaData": metadata},
        {"protocol": protocol},
        {"txn": transaction},
    ]
    checksum = {
        "tableSizeBytes": 0,
        "numFiles": 0,
        "numMetadata": 1,
        "numProtocol": 1,
        "inCommitTimestampOpt": now,
        "setTransactions": [transaction],
        "domainMetadata": [],
        "metadata": metadata,
        "protocol": protocol,
    }
    log_folder = Path(str(table)) / "_delta_log"
    log_folder.mkdir(parents=True)
    (log_folder / f"{0:020d}.crc").write_text(json.dumps(checksum))
    (log_folder / f"{0:020d}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    return position


def sample(available: Available) -> Plan:
    """Plan the newest records of the partition that has most of them."""
    partition = max(available.ends, key=lambda each: available.ends[each] - available.earliest[each])
    end = available.ends[partition]
    return Plan({partition: max(available.earliest[partition], end - SAMPLE_RECORDS)}, {partition: end})


def settle_again_and_again(
    context: BatchContext, position: Position, spark: SparkSession, records: Sequence[Record]
) -> int:
    """Settle the same events under new offsets in each round, and return the number of rounds.

    The first round inserts the events, the others update them. On a busy machine there are fewer rounds.
    """
    until = time.monotonic() + LONGEST_SECONDS
    for number in range(ROUNDS):
        if time.monotonic() > until:
            return number
        first = number * len(records)
        renumbered = [record._replace(offset=first + n) for n, record in enumerate(records)]
        where = records[0].where
        planned = Plan({where: first}, {where: first + len(records)})
        rows = rows_of(spark, renumbered)
        position = run_batch(context, position, planned, RowsSource(rows), StageTimer()).position
    return ROUNDS
