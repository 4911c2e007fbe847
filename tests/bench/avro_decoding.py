"""What it costs to decode each record by its own schema: five of them, against one `from_avro` of the same rows.

    make bench-avro

Both decode the same ratings to the same columns, in rounds that alternate. `judged` is what a batch does: it also tells
broken bytes, bytes left over and texts that are none, which a plain `from_avro` lets pass.
"""

import io
import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple, cast

import click
import fastavro
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from common.model.record import RECORD
from common.registry.client import Client
from common.registry.subject import Registered, Subject
from common.settings.load import read_pipeline
from common.spark.classify import REJECTION, with_reason
from common.spark.decode.avro import AvroDecoder
from common.spark.decode.avro_reader import Reader
from common.spark.decode.avro_writers import Writers
from common.spark.source import as_records
from datasets.ratings.events import Shares, events
from datasets.ratings.schemas import VERSIONS, schema
from tests.bench.session import start_spark
from tests.bench.statistics import paired_ratio, spread
from tests.support.records import KAFKA, NOON

DISTINCT, TIMES = 100_000, 10
WARM_UPS = 4
LATEST = max(VERSIONS)
PLAIN, DECODED = "one schema, plain from_avro", "five schemas, decoded"
PROMISED = 1.2


def messages(*, one_schema: bool) -> list[bytes]:
    """The same ratings, each by its own version or all by the latest. The version is the id."""
    parsed = {version: fastavro.parse_schema(json.loads(schema(version))) for version in VERSIONS}
    found = []
    for event in events(1, DISTINCT, 1_700_000_000, Shares(broken=0, late=0, duplicate=0, update=0)):
        version = LATEST if one_schema else event.version
        buffer = io.BytesIO()
        buffer.write(b"\x00" + version.to_bytes(4))
        known = {**vars(event.rating), "film_id": event.rating.movie_id, "client": "app"}
        fastavro.schemaless_writer(
            buffer, parsed[version], {str(each["name"]): known[str(each["name"])] for each in VERSIONS[version]}
        )
        found.append(buffer.getvalue())
    return found


def in_memory(spark: SparkSession, values: list[bytes]) -> DataFrame:
    """As the rows of a Kafka read, several times over: long enough to be measured."""
    rows = [(b"k", value, "t", 0, offset, NOON) for offset, value in enumerate(values)]
    times = spark.range(TIMES).select()
    cached = as_records(spark.createDataFrame(rows, KAFKA).crossJoin(times)).repartition(2).cache()
    cached.count()
    return cached


def plain(records: DataFrame, columns: dict[str, str]) -> DataFrame:
    datum = F.substring(f"{RECORD}.value", 6, 2**31 - 1)
    decoded = records.withColumn("_avro", from_avro(datum, schema(LATEST), {"mode": "PERMISSIVE"}))
    return decoded.select(*(F.col(f"_avro.{name}") for name in columns))


def decoder(spark: SparkSession, columns: dict[str, str]) -> AvroDecoder:
    def registered(version: int) -> Registered:
        return Registered(version, schema(version), "AVRO", has_references=False)

    nobody = Subject(Client("http://127.0.0.1:9", 0), "ratings-value")
    writers = Writers(nobody, Reader.of(spark, registered(LATEST), columns, "the latest version"))
    for version in VERSIONS:
        writers.learn(registered(version))
    return AvroDecoder(columns, 1_048_576, writers)


class Took(NamedTuple):
    """By the clock, and of the tasks' threads: the second is the same whoever else uses the machine."""

    clock: float
    processor: float


def took(spark: SparkSession, rows: DataFrame, name: str) -> Took:
    context = spark.sparkContext
    context.setJobGroup(name, name)
    begun = perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    clock = perf_counter() - begun
    tracker, store = context.statusTracker(), cast("Any", context)._jsc.sc().statusStore()
    cast("Any", context)._jsc.sc().listenerBus().waitUntilEmpty()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(name)]
    stages = [stage for job in jobs if job is not None for stage in job.stageIds]
    return Took(clock, sum(store.lastStageAttempt(stage).executorCpuTime() for stage in stages) / 1e9)


def contenders(spark: SparkSession) -> dict[str, DataFrame]:
    columns = read_pipeline("ratings").source.columns
    five, one = (in_memory(spark, messages(one_schema=each)) for each in (False, True))
    ours = decoder(spark, columns)

    def judged(records: DataFrame) -> DataFrame:
        return with_reason(ours.with_event(records), ours.rejections()).drop(
            REJECTION, *ours.temporary_columns(), RECORD
        )

    return {
        PLAIN: plain(one, columns),
        DECODED: ours.with_event(five).select(*columns),
        "one schema, judged": judged(one),
        "five schemas, judged": judged(five),
    }


@click.command()
@click.option("--rounds", type=click.IntRange(min=3), default=15, show_default=True)
def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark(Path(folder))
        measured = play(spark, contenders(spark), rounds)
        spark.stop()
    print(f"{DISTINCT * TIMES:,} records, {rounds} rounds, seconds by the clock and of processor a round: medians")
    for name, times in measured.items():
        clock, processor = against(times, measured[PLAIN])
        print(f"{name:<28} {clock}   {processor}")
    print(f"promised: {DECODED}, at most {PROMISED} times {PLAIN}")


def play(spark: SparkSession, line_up: dict[str, DataFrame], rounds: int) -> dict[str, list[Took]]:
    """Everyone in every round, so that what slows the machine slows all."""
    measured: dict[str, list[Took]] = {name: [] for name in line_up}
    for turn in range(WARM_UPS + rounds):
        for name, rows in line_up.items():
            found = took(spark, rows, f"{name}, round {turn}")
            if turn >= WARM_UPS:
                measured[name].append(found)
    return measured


def against(times: list[Took], base: list[Took]) -> list[str]:
    """The median of each measure, and how many times the base's it is."""
    told = []
    for mine, plain_ones in zip(zip(*times, strict=True), zip(*base, strict=True), strict=True):
        found = paired_ratio(mine, plain_ones)
        told.append(f"{spread(mine).median:.3f} = {found.value:.2f} times ({found.low:.2f} to {found.high:.2f})")
    return told


if __name__ == "__main__":
    main()
