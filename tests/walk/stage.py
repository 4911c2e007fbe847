"""A small run of the real job: an embedded broker, a table of ten hours, and three batches of ten records."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from common.faults import fault_point
from jobs import streaming_merge, temperatures_delta_processing
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from tests.support.broker import Broker
from tests.support.commands import ROOT, jars, spark_properties
from tests.walk.steps import Step, steps_of
from tests.walk.tracer import Tracer, traced

PIPELINE, TOPIC = "temperatures", "temperatures"
RECORDS, BATCHES = 10, 3
# The last fault point of a batch: what follows belongs to the next one.
LAST_POINT = "reported"
# No record goes through them: they write the log, name errors, and let tests end the process.
LEFT_OUT = frozenset({"logs.py", "errors.py", "faults.py"})


def steps_of_the_last_batch(folder: Path) -> list[Step]:
    """Run the batch loop over all batches, and give the steps of the last one: what is done once is done by then."""
    tracer = Tracer(ROOT / "common", fault_point, LAST_POINT, LEFT_OUT)
    set_environment(folder)
    with kafka(folder) as broker, spark_session(folder) as spark, redirect_stdout(StringIO()):
        table = folder / "table"
        write_base(folder / "base")
        run_job(temperatures_delta_processing, folder / "base", table)
        broker.create_topic(TOPIC, partitions=1)
        for number in range(BATCHES):
            broker.produce(TOPIC, records(number))
        with traced(tracer):
            run_job(streaming_merge, "--mode", "batch", "--once", table, broker.address, TOPIC)
        require_settled(spark, table, tracer)
    return steps_of(tracer.batches[-1])


def set_environment(folder: Path) -> None:
    """Use the pipeline of the demo with small batches, and keep reports and logs in the folder."""
    text = (ROOT / "conf" / "pipelines" / f"{PIPELINE}.toml").read_text()
    text, changes = re.subn(r"(?m)^(max_records_per_batch = ).*$", rf"\g<1>{RECORDS}", text)
    assert changes == 1, "the pipeline's file does not limit its batches"
    for name in ("pipelines", "reports", "logs"):
        (folder / name).mkdir()
    (folder / "pipelines" / f"{PIPELINE}.toml").write_text(text)
    os.environ.update(
        ALLUVIUM_PIPELINES=str(folder / "pipelines"),
        ALLUVIUM_REPORT_DIR=str(folder / "reports"),
        ALLUVIUM_LOG_DIR=str(folder / "logs"),
    )


@contextmanager
def kafka(folder: Path) -> Iterator[Broker]:
    service = Kafka(home=folder / "kafka", port=free_port())
    service.start()
    try:
        yield Broker(service.address)
    finally:
        service.stop()


@contextmanager
def spark_session(folder: Path) -> Iterator[SparkSession]:
    """Start the session that the jobs find: the settings of conf/local.conf, on two cores."""
    log4j = f"-Dlog4j2.configurationFile=file:{ROOT}/conf/log4j2.properties -Dalluvium.log={folder}/spark.log"
    builder = SparkSession.builder.appName("walk")
    settings = spark_properties("local") | {
        "spark.jars": ",".join(map(str, jars("spark", "kernel"))),
        "spark.driver.extraJavaOptions": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dalluvium.run=walk {log4j}",
        "spark.master": "local[2]",
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def run_job(job: Any, *arguments: object) -> None:
    """Run a job's command in this process, without what its edge does to logs and signals."""
    job.main.__wrapped__.main([str(argument) for argument in arguments], standalone_mode=False)


def write_base(folder: Path) -> None:
    """Write the first ten hours of a month."""
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist([hour(number, 0.0) for number in range(RECORDS)]), folder / "base.parquet")


def records(batch: int) -> list[tuple[bytes | None, bytes | None]]:
    """Make nine new hours, and one correction of an hour that the table has from the beginning."""
    first = RECORDS + batch * (RECORDS - 1)
    hours = [hour(number, 1.0) for number in (batch, *range(first, first + RECORDS - 1))]
    return [(as_json({name: row[name] for name in row if name != "temperature_2m"}), as_json(row)) for row in hours]


def hour(number: int, degrees: float) -> dict[str, Any]:
    time = f"2024-01-{number // 24 + 1:02d}T{number % 24:02d}:00"
    return {"latitude": 52.52, "longitude": 13.41, "time": time, "temperature_2m": degrees}


def as_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def require_settled(spark: SparkSession, table: Path, tracer: Tracer) -> None:
    """Refuse a walk of a run that has not done its work: all batches settled, corrected and new hours in the table."""
    rows = spark.read.format("delta").load(str(table)).groupBy("temperature_2m").count().collect()
    expected = {0.0: RECORDS - BATCHES, 1.0: RECORDS * BATCHES}
    assert {row["temperature_2m"]: row["count"] for row in rows} == expected, "the table does not hold what was sent"
    assert len(tracer.batches) == BATCHES, f"{len(tracer.batches)} batches were settled, not {BATCHES}"
