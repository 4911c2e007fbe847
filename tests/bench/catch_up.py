"""Catch-up: a topic that has waited for days, half of it corrections, against decoding and plainly appending it."""

import random
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from common.engine.start import Inputs
from common.kafka.topic import TopicClient
from common.model.offsets import Offsets, plan
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from datasets.weather.extent import extent
from tests.bench.batches import Batches, Row, Spot
from tests.bench.cells import Base
from tests.bench.contenders import tuned_session
from tests.bench.data import DeltaBase, copy_delta, pipeline
from tests.bench.digest import COLUMNS, after_appending, after_merging, digest_of
from tests.bench.engine import Engine, quiet
from tests.bench.merges import decoded
from tests.bench.results import CatchUp
from tests.bench.rounds import PARTITIONS, Sender, Stage, cleared, difference
from tests.bench.session import activate

# Sixty places: ninety days of them are as many keys as a quarter of the events.
BASE = Base(10, "locations", "partitioned")
UPDATED_HOURS = 90 * 24


def events(count: int, seed: int) -> list[Row]:
    """Half new hours in their order, half corrections of the last ninety days, mixed by chance; keys come again."""
    chance = random.Random(f"{seed}/catch-up")
    size = extent(BASE.scale, BASE.grow)
    is_update = [place % 2 == 1 for place in range(count)]
    chance.shuffle(is_update)
    spots, new = [], 0
    for updated in is_update:
        if updated:
            spots.append(Spot(-1 - chance.randrange(UPDATED_HOURS), chance.randrange(size.place_count)))
        else:
            spots.append(Spot(*divmod(new, size.place_count)))
            new += 1
    return Batches(BASE, "random-144", seed).rows(spots, chance)


def catch_up(stage: Stage, *, count: int, rounds: int, seed: int) -> CatchUp:
    """Both in turn, on new copies of one table; a first round is not counted."""
    base, rows = stage.bases.delta(BASE), events(count, seed)
    topic = TopicClient(stage.broker.address, stage.broker.create_topic(partitions=PARTITIONS))
    Sender(stage.broker, topic).send(rows)
    found = CatchUp(events=count, updates=count // 2, ours=[], append=[], stages={})
    for number in range(rounds + 1):
        seconds, stages, wrong = of_ours(stage, base, topic, rows)
        floor = of_append(stage, base, topic, rows)
        stage.tell(f"  catch-up, round {number}: ours {seconds:.1f} s, append {floor:.1f} s")
        found.stages, found.wrong = stages, wrong
        if number:
            found.ours.append(round(seconds, 3))
            found.append.append(round(floor, 3))
    stage.broker.delete_topic(topic.names[0])
    return found


def of_ours(
    stage: Stage, base: DeltaBase, topic: TopicClient, rows: Sequence[Row]
) -> tuple[float, dict[str, float], str | None]:
    """The whole topic by the batch loop, in batches as large as the pipeline says."""
    table = fresh_copy(stage, base)
    inputs = Inputs(pipeline("partitioned"), location(str(table)), topic)
    engine = Engine(stage.spark, inputs, stage.folder / "copies" / "reports")
    loop = engine.loop()
    began = monotonic()
    with quiet():
        loop.drain()
    seconds = monotonic() - began
    stages: dict[str, float] = {}
    for batch in engine.batches():
        for name, spent in batch.seconds.items():
            stages[name] = round(stages.get(name, 0.0) + spent, 3)
    return seconds, stages, compared(stage, base, table, rows)


def of_append(stage: Stage, base: DeltaBase, topic: TopicClient, rows: Sequence[Row]) -> float:
    table, session = fresh_copy(stage, base), tuned_session(stage.spark)
    activate(session)
    declared: Pipeline = pipeline("partitioned")
    available = topic.available()
    at: Offsets = dict.fromkeys(available.ends, 0)
    began = monotonic()
    while (planned := plan(at, available, declared.source.max_records_per_batch)).records:
        decoded(session, topic, planned).select(*COLUMNS).write.format("delta").mode("append").save(str(table))
        at = planned.end
    seconds = monotonic() - began
    appended = digest_of(stage.spark.read.format("delta").load(str(table)))
    assert appended == after_appending(stage.spark, base.digest, rows), "the floor did not append everything"
    return seconds


def fresh_copy(stage: Stage, base: DeltaBase) -> Path:
    return copy_delta(base, cleared(stage.folder / "copies") / f"catch-up-{monotonic()}")


def compared(stage: Stage, base: DeltaBase, table: Path, rows: Sequence[Row]) -> str | None:
    read = stage.spark.read.format("delta")
    return difference(digest_of(read.load(str(table))), after_merging(read.load(str(base.path)), base.digest, rows))
