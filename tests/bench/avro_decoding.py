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

import click
import fastavro
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from common.decode.avro import AvroDecoder
from common.decode.avro_reader import Reader
from common.decode.avro_writers import Writers
from common.divide.verdict import with_reason
from common.read.kafka import RECORD, as_records
from common.registry.client import Client
from common.registry.subject import Registered, Subject
from common.settings.pipeline import read_pipeline
from datasets.ratings.events import Shares, events
from datasets.ratings.schemas import VERSIONS, schema
from tests.bench.session import start_spark
from tests.bench.statistics import paired_ratio, spread
from tests.support.records import KAFKA, NOON

DISTINCT, TIMES = 100_000, 10
WARM_UPS = 3
LATEST = max(VERSIONS)
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


def seconds(rows: DataFrame) -> float:
    begun = perf_counter()
    rows.write.format("noop").mode("overwrite").save()
    return perf_counter() - begun


@click.command()
@click.option("--rounds", type=click.IntRange(min=3), default=15, show_default=True)
def main(rounds: int) -> None:
    columns = read_pipeline("ratings").source.columns
    with tempfile.TemporaryDirectory() as folder:
        spark = start_spark(Path(folder))
        five, one = (in_memory(spark, messages(one_schema=each)) for each in (False, True))
        ours = decoder(spark, columns)
        decoded = ours.with_event(five)
        contenders = {
            "one schema, plain from_avro": plain(one, columns),
            "five schemas, decoded": decoded.select(*columns),
            "five schemas, judged": with_reason(decoded, ours.verdicts()).drop(*ours.scaffold(), RECORD),
            "one schema, judged": with_reason(ours.with_event(one), ours.verdicts()).drop(*ours.scaffold(), RECORD),
        }
        measured: dict[str, list[float]] = {name: [] for name in contenders}
        for turn in range(WARM_UPS + rounds):
            for name, rows in contenders.items():
                took = seconds(rows)
                if turn >= WARM_UPS:
                    measured[name].append(took)
        spark.stop()
    base = measured["one schema, plain from_avro"]
    print(f"{DISTINCT * TIMES:,} records, {rounds} rounds, seconds a round: median and quarters")
    for name, times in measured.items():
        found, against = spread(times), paired_ratio(times, base)
        print(
            f"{name:<28} {found.median:.3f} ({found.low:.3f} to {found.high:.3f})"
            f"  {against.value:.2f} times plain ({against.low:.2f} to {against.high:.2f})"
        )
    found = paired_ratio(measured["five schemas, decoded"], base)
    print(f"promised: at most {PROMISED}; measured: {found.value:.2f}")


if __name__ == "__main__":
    main()
