"""What each merge strategy costs, by the size of its candidate files, and what a change feed adds.

    make bench-strategies

Each contender merges the same changes into a copy of the same table, in rounds that alternate. Written to
docs/bench/strategies.md.
"""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta.open_ledger import transaction
from common.merge.changes import Changes
from common.merge.request import MergeRequest, begin_merge
from common.merge.strategies import choose_strategy
from common.model.limits import Limits
from common.rules.pruning import PruneBound, Range
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from tests.bench.session import start_spark
from tests.bench.statistics import paired_ratio, spread
from tests.support.commands import ROOT
from tests.support.merges import DRIVER, MERGE, SPARK, only, stamped

VAR = ROOT / "var" / "bench-strategies"
PAGE = ROOT / "docs" / "bench" / "strategies.md"
MEBIBYTE = 2**20
# A row is about as large in its file, because its text does not compress.
ROW_BYTES = 100
SIZES = (1, 8, 16, 32, 64)
CHANGES = (144, 5_000)
WARM_UPS, ROUNDS = 2, 7
# Above them every strategy would decline the larger sizes.
UNLIMITED = Limits(
    candidate_bytes=2**40, rewrite_bytes=2**40, rewrite_rows=2**40, rewrite_memory=2**40, collected_bytes=2**40
)
PIPELINE = Pipeline.model_validate(
    {
        "name": "bench",
        "source": {"topic": "t", "columns": {"id": "bigint", "value": "string"}},
        "target": {"keys": ["id"], "prune_by": ["id"]},
    }
)
FEED = "with the change feed"


@dataclass(frozen=True)
class Contender:
    """A strategy on a table of its own."""

    name: str
    strategy: str
    properties: Mapping[str, str]


CONTENDERS = (
    Contender(DRIVER, DRIVER, {}),
    Contender(SPARK, SPARK, {}),
    Contender(MERGE, MERGE, {}),
    Contender(f"{DRIVER} {FEED}", DRIVER, {"delta.enableChangeDataFeed": "true"}),
    Contender(f"{MERGE} {FEED}", MERGE, {"delta.enableChangeDataFeed": "true"}),
)


def create(spark: SparkSession, path: Path, megabytes: int, properties: Mapping[str, str]) -> int:
    """One file of that size. Gives the number of its rows."""
    rows = megabytes * MEBIBYTE // ROW_BYTES
    value = F.concat(*(F.hex(F.xxhash64("id", F.lit(number))) for number in range(6)))
    frame = spark.range(rows).select("id", value.alias("value")).coalesce(1)
    frame.write.format("delta").options(**properties).save(str(path))
    return rows


def merge(spark: SparkSession, contender: Contender, path: Path, changes: DataFrame, seq: int, rows: int) -> float:
    """One batch from its changes to the commit, in seconds."""
    arrow = changes.toArrow()
    bounds = [PruneBound("id", "bigint", [Range(0, rows)], or_null=False)]
    began = time.monotonic()
    given = Changes(changes.schema, lambda: changes, arrow)
    request = MergeRequest(spark, location(str(path)), PIPELINE, given, arrow.num_rows, bounds, stamped(seq), UNLIMITED)
    prepared = choose_strategy(begin_merge(request), only(contender.strategy)).prepared
    with transaction(spark, stamped(seq)):
        prepared.commit(stamped(seq))
    return time.monotonic() - began


def measure(spark: SparkSession, folder: Path, megabytes: int, count: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {contender.name: [] for contender in CONTENDERS}
    rows = {each.name: create(spark, folder / each.name, megabytes, each.properties) for each in CONTENDERS}
    step = max(1, next(iter(rows.values())) // count)
    for seq in range(1, WARM_UPS + ROUNDS + 1):
        value = F.concat(F.lit(f"round {seq} "), F.col("id").cast("string"))
        changes = spark.range(seq, count * step, step).select("id", value.alias("value")).localCheckpoint()
        for contender in CONTENDERS:
            taken = merge(spark, contender, folder / contender.name, changes, seq, rows[contender.name])
            if seq > WARM_UPS:
                seconds[contender.name].append(taken)
    contents = {name: digest(spark, folder / name) for name in seconds}
    if len(set(contents.values())) != 1:
        raise SystemExit(f"the tables differ: {contents}")
    return seconds


def digest(spark: SparkSession, path: Path) -> tuple[int, int]:
    rows = spark.read.format("delta").load(str(path))
    found = rows.agg(F.count("*"), F.sum(F.xxhash64("id", "value").cast("decimal(38,0)"))).collect()[0]
    return int(found[0]), int(found[1])


def lines(results: Mapping[tuple[int, int], Mapping[str, Sequence[float]]]) -> Iterator[str]:
    names = [contender.name for contender in CONTENDERS]
    yield "# What each merge strategy costs"
    yield ""
    yield f"Written by `make bench-strategies`: {ROUNDS} alternating rounds; medians in seconds, and in brackets the"
    yield "ratio to Delta's MERGE of the same rounds with its 95 % interval. The engine's limits are lifted for it."
    yield ""
    yield f"| candidates | changes | {' | '.join(names)} | the driver's feed, in times of none |"
    yield f"| ---: | ---: |{' ---: |' * (len(names) + 1)}"
    for (megabytes, count), seconds in results.items():
        cells = [cell(seconds, name) for name in names]
        feed = paired_ratio(seconds[f"{DRIVER} {FEED}"], seconds[DRIVER])
        told = f"{feed.value:.2f} ({feed.low:.2f} to {feed.high:.2f})"
        yield f"| {megabytes} MiB | {count:,} | {' | '.join(cells)} | {told} |"


def cell(seconds: Mapping[str, Sequence[float]], name: str) -> str:
    median = f"{spread(seconds[name]).median:.2f}"
    if name == MERGE:
        return median
    against = paired_ratio(seconds[name], seconds[MERGE])
    return f"{median} ({against.value:.2f}, {against.low:.2f} to {against.high:.2f})"


@click.command()
def main() -> None:
    """Measure the strategies and write docs/bench/strategies.md."""
    shutil.rmtree(VAR, ignore_errors=True)
    VAR.mkdir(parents=True)
    spark = start_spark(VAR)
    results = {}
    for megabytes in SIZES:
        for count in CHANGES:
            folder = VAR / f"{megabytes}-{count}"
            results[megabytes, count] = measure(spark, folder, megabytes, count)
            print("\n".join(lines(results)).splitlines()[-1], flush=True)
            shutil.rmtree(folder)
    spark.stop()
    PAGE.write_text("\n".join(lines(results)) + "\n")


if __name__ == "__main__":
    main()
