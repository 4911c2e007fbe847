"""What each setting is worth: batches of 144 rows with all of them, and with one at a time as it would be without us.

    make bench-settings

Each row is a run of the engine on a table of its own, in rounds that alternate: merged by the driver, by one Spark job
and a direct commit, and by Delta's MERGE, as the same batch is where the ways before are not allowed. Written to
docs/bench/settings.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal
from unittest.mock import patch

import click

from common.spark import small_queries as few
from tests.bench.__main__ import DOCS, VAR, set_up, tell
from tests.bench.cells import Base, Cell
from tests.bench.contenders import Contender, Place, Sent, Timing, set_properties
from tests.bench.engine import Ours
from tests.bench.rounds import Plays, Stage, play
from tests.bench.statistics import paired_ratio, spread
from tests.support.merges import CHOICES, DRIVER, MERGE, SPARK

Way = Literal["hand", "direct", "merge"]
WAYS: tuple[Way, ...] = ("hand", "direct", "merge")
STRATEGIES = {"hand": CHOICES[DRIVER], "direct": CHOICES[SPARK], "merge": CHOICES[MERGE]}
AS_IT_IS = "as it is"
INTRODUCTION = """\
# What each setting is worth

Written by `make bench-settings`: {rounds} alternating rounds of 144 rows into 210,384. Each row has one thing otherwise
than conf/local.conf, common/spark/small_queries.py or the pipeline's file have it, and its time in times of the first
row, with the 95 % interval of a bootstrap over rounds: merged by the driver, by one Spark job, and by Delta's MERGE.
"""


@dataclass(frozen=True)
class Otherwise:
    """One thing that is done otherwise: in the session, for few records, or by a property of the table."""

    what: str
    session: Mapping[str, str] = field(default_factory=dict)
    for_few: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    ways: Sequence[Way] = WAYS


CHANGES = (
    Otherwise(AS_IT_IS),
    Otherwise(
        "50 partitions of a snapshot (Delta's default), not 2", {"spark.databricks.delta.snapshotPartitions": "50"}
    ),
    Otherwise("200 shuffle partitions (Spark's default), not 4", {"spark.sql.shuffle.partitions": "200"}),
    Otherwise("another time zone than UTC", {"spark.sql.session.timeZone": "Europe/Paris"}),
    Otherwise("adaptive execution for few records", for_few={"spark.sql.adaptive.enabled": "true"}),
    Otherwise(
        "generated code for few records",
        for_few={"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"},
    ),
    Otherwise("plans of few records drawn for the UI", for_few={"spark.sql.ui.explainMode": "formatted"}),
    Otherwise("a checkpoint of the log with each commit", properties={"delta.checkpointInterval": "1"}),
    Otherwise("deletion vectors", properties={"delta.enableDeletionVectors": "true"}, ways=["merge"]),
)


class Changed(Ours):
    """The engine in batch mode, with one thing changed, by one way."""

    def __init__(self, name: str, change: Otherwise, way: Way) -> None:
        super().__init__("batch", STRATEGIES[way])
        self.name, self._change = name, change

    def prepare(self, place: Place) -> None:
        super().prepare(place)
        for key, value in self._change.session.items():
            self._engine.set(key, value)
        set_properties(place, self.table, self._change.properties)

    def run(self, sent: Sent) -> Timing:
        with self._done_otherwise():
            return super().run(sent)

    @contextmanager
    def _done_otherwise(self) -> Iterator[None]:
        with patch.dict(few.SETTINGS, self._change.for_few):
            yield


def makers() -> dict[str, tuple[Otherwise, Way]]:
    return {f"{way}-{number}": (change, way) for number, change in enumerate(CHANGES) for way in change.ways}


def new_changed(name: str) -> Contender:
    return Changed(name, *makers()[name])


def measure(stage: Stage, rounds: int) -> dict[str, list[float]]:
    cell = Cell(Base(1, "years", "partitioned"), "newest-144", tuple(makers()))
    found = play(cell, stage, Plays(rounds, warm_ups=3, seed=1), new_changed)
    for entry in found.entries.values():
        if entry.wrong is not None:
            raise SystemExit(f"{makers()[entry.contender][0].what}: {entry.wrong}")
    return {name: entry.seconds for name, entry in found.entries.items()}


def lines(seconds: Mapping[str, Sequence[float]], rounds: int) -> Iterator[str]:
    yield INTRODUCTION.format(rounds=rounds)
    yield "| otherwise | by the driver | one Spark job | Delta's MERGE |"
    yield "| --- | ---: | ---: | ---: |"
    for number, change in enumerate(CHANGES):
        yield f"| {change.what} | {' | '.join(worth(seconds, number, way) for way in WAYS)} |"


def worth(seconds: Mapping[str, Sequence[float]], number: int, way: Way) -> str:
    measured, reference = seconds.get(f"{way}-{number}"), seconds[f"{way}-0"]
    if measured is None:
        return "never written"
    if number == 0:
        return f"{spread(measured).median:.2f} s"
    found = paired_ratio(measured, reference)
    return f"{found.value:.2f} ({found.low:.2f} – {found.high:.2f})"


@click.command()
@click.option("--rounds", type=click.IntRange(min=3), default=15, show_default=True)
def main(rounds: int) -> None:
    """Measure every setting, and write docs/bench/settings.md."""
    VAR.mkdir(parents=True, exist_ok=True)
    with set_up(VAR) as stage:
        page = "\n".join(lines(measure(stage, rounds), rounds)) + "\n"
    DOCS.mkdir(parents=True, exist_ok=True)
    (DOCS / "settings.md").write_text(page)
    tell(page)


if __name__ == "__main__":
    main()
