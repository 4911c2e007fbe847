"""Where a batch's time goes: what holds back a figure that is missed.

    make bench-profile

A small batch by the calls into the JVM that it is made of, a large one by how long each step takes more than the one
before it. Written to docs/bench/profile.md.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import median
from typing import Any
from unittest.mock import patch

import click
from py4j.clientserver import ClientServerConnection
from pyspark.sql import DataFrame
from pyspark.sql.classic.dataframe import DataFrame as SparkFrame

from common.engine import source
from common.engine.materialized_batch import MaterializedBatch, materialize
from common.kafka.topic import TopicClient
from common.merge import driver_rewrite
from common.model.limits import DEFAULT_LIMITS
from common.spark.classify import classify
from common.spark.decode.factory import decoder_of
from common.spark.source import as_records, read_range
from tests.bench.__main__ import DOCS, VAR, set_up, tell
from tests.bench.batches import Batches
from tests.bench.catch_up import events
from tests.bench.cells import Base
from tests.bench.contenders import Place, Sent, tuned_session
from tests.bench.data import pipeline
from tests.bench.engine import Ours
from tests.bench.merges import Append, decoded
from tests.bench.rounds import PARTITIONS, Sender, Stage, cleared
from tests.bench.session import activate

SMALL = Base(1, "years", "partitioned")
WARM_UPS, ROUNDS = 15, 15
MANY_RECORDS, MANY_WARM_UPS, MANY_ROUNDS = 100_000, 6, 7
# Functions of ours or of PySpark's, as a whole.
WHOLE = {
    "the records fetched, and given to Spark": (source, "fetched_dataframe"),
    "the query that decodes and judges, and its rows to Python": (SparkFrame, "toArrow"),
    "the candidates read, joined and written by Arrow": (driver_rewrite, "rewrite_files"),
}
# Calls that a reader knows by another name; all that are not among these are the rest.
STEPS = {
    "commit": "Delta's commit",
    "select": "columns, analysed",
    "withColumn": "columns, analysed",
    "withColumns": "columns, analysed",
    "forTableWithSnapshot": "the table's newest version, looked up",
    "startTransaction": "the table's newest version, looked up",
    "getSnapshotAsOfVersion": "candidates by Kernel",
    "hasNext": "candidates by Kernel",
    "next": "candidates by Kernel",
}
REST = "all other calls, and Python"
INTRODUCTION = f"""\
# Where the time goes

Written by `make bench-profile`: medians of {ROUNDS} warm batches, and of {MANY_ROUNDS} large ones, to be compared with
each other only.

## 144 rows of the newest hours into 210,384

| step | ms | calls |
| --- | ---: | ---: |"""
MANY = f"""
## {MANY_RECORDS:,} records of the catch-up, up to the merge

Each line does what the one before it does, and more.

| step | ms | more than before |
| --- | ---: | ---: |"""


@dataclass
class Calls:
    """Seconds and numbers of the calls into the JVM in one batch, by step; those inside of a whole are a part of it."""

    inside: str | None = None
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    numbers: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @contextmanager
    def timed(self, step: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.numbers[self.inside or step] += 1
            if self.inside is None:
                self.seconds[step] += time.monotonic() - began

    def as_a_whole(self, step: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*given: Any, **named: Any) -> Any:
            with self.timed(step):
                self.inside = step
                try:
                    return real(*given, **named)
                finally:
                    self.inside = None

        return wrapped


@contextmanager
def counted() -> Iterator[Calls]:
    calls, send = Calls(), ClientServerConnection.send_command

    def timed_send(connection: Any, command: str, *given: Any) -> Any:
        kind, _, method = (*command.split("\n", 3), "", "")[:3]
        with calls.timed(STEPS.get(method, REST) if kind == "c" else REST):
            return send(connection, command, *given)

    with ExitStack() as patches:
        patches.enter_context(patch.object(ClientServerConnection, "send_command", timed_send))
        for step, (where, name) in WHOLE.items():
            patches.enter_context(patch.object(where, name, calls.as_a_whole(step, getattr(where, name))))
        yield calls


def profile_of_small(stage: Stage) -> Iterator[str]:
    folder = cleared(stage.folder / "copies")
    topic = TopicClient(stage.broker.address, stage.broker.create_topic(partitions=PARTITIONS))
    place = Place(stage.spark, stage.bases.delta(SMALL), pipeline(SMALL.layout), topic, folder)
    ours, floor = Ours("batch"), Append()
    for contender in (ours, floor):
        contender.prepare(place)
    sender, batches = Sender(stage.broker, topic), Batches(SMALL, "newest-144")
    found: list[tuple[float, float, Calls]] = []
    for number in range(WARM_UPS + ROUNDS):
        sent = sender.send(batches.batch(number))
        of_floor = floor.run(sent).seconds
        with counted() as calls:
            found.append((ours.run(sent).seconds, of_floor, calls))
    counts = found[WARM_UPS:]
    whole = median(seconds for seconds, _, _ in counts)
    known = {
        step: median(calls.seconds[step] for *_, calls in counts) for step in (*WHOLE, *dict.fromkeys(STEPS.values()))
    }
    numbers = {step: median(calls.numbers[step] for *_, calls in counts) for step in (*known, REST)}
    for step, seconds in sorted(known.items(), key=lambda each: -each[1]):
        yield f"| {step} | {seconds * 1000:.0f} | {numbers[step]:.0f} |"
    yield f"| {REST} | {(whole - sum(known.values())) * 1000:.0f} | {numbers[REST]:.0f} |"
    yield f"| **the batch** | **{whole * 1000:.0f}** | {sum(numbers.values()):.0f} |"
    yield f"| beside it, a plain append of the same rows | {median(each for _, each, _ in counts) * 1000:.0f} | |"


def steps_of_many(stage: Stage, topic: TopicClient, sent: Sent) -> Mapping[str, Callable[[], object]]:
    spark, declared = tuned_session(stage.spark), pipeline(SMALL.layout)
    activate(spark)
    decoder = decoder_of(spark, declared)

    def rows() -> DataFrame:
        return read_range(spark, topic, sent.planned)

    def judged() -> DataFrame:
        return classify(as_records(rows()), declared, decoder)

    def settled() -> MaterializedBatch:
        return materialize(judged(), declared, DEFAULT_LIMITS, is_fetched=False).deduplicate()

    return {
        "Kafka's records": lambda: computed(rows()),
        "decoded strictly": lambda: computed(decoder.with_event(as_records(rows()))),
        "judged": lambda: computed(judged()),
        "materialised": lambda: judged().localCheckpoint(),
        "held by the driver, and folded": settled,
        "accounted for": lambda: settled().stats(),
        "beside them, decoded by from_json": lambda: computed(decoded(spark, topic, sent.planned)),
    }


def computed(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()


def profile_of_many(stage: Stage) -> Iterator[str]:
    topic = TopicClient(stage.broker.address, stage.broker.create_topic(partitions=PARTITIONS))
    steps = steps_of_many(stage, topic, Sender(stage.broker, topic).send(events(MANY_RECORDS, 1)))
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(MANY_WARM_UPS + MANY_ROUNDS):
        for name, step in steps.items():
            began = time.monotonic()
            step()
            seconds[name].append(time.monotonic() - began)
    before = 0.0
    for name, each in seconds.items():
        found = median(each[MANY_WARM_UPS:])
        more = "" if name.startswith("beside") else f"{(found - before) * 1000:.0f}"
        yield f"| {name} | {found * 1000:.0f} | {more} |"
        before = found


@click.command()
def main() -> None:
    """Profile a small batch and a large one, and write docs/bench/profile.md."""
    VAR.mkdir(parents=True, exist_ok=True)
    with set_up(VAR) as stage:
        page = "\n".join([INTRODUCTION, *profile_of_small(stage), MANY, *profile_of_many(stage)]) + "\n"
    DOCS.mkdir(parents=True, exist_ok=True)
    (DOCS / "profile.md").write_text(page)
    tell(page)


if __name__ == "__main__":
    main()
