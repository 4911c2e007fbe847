"""A cell is played in rounds: everybody settles the same batch, in an order of chance, each into a table of its own."""

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from common.errors import AlluviumError, first_line
from common.kafka.topic import TopicClient
from common.model.offsets import Offsets, Plan
from tests.bench.batches import Batches, Row, records
from tests.bench.bounds import bound_of, exact_bound_of
from tests.bench.cells import Cell
from tests.bench.contenders import Contender, Place, Sent, Table
from tests.bench.data import Bases, pipeline
from tests.bench.digest import Digest, after_appending, after_merging, digest_of
from tests.bench.heap import Heap
from tests.bench.line_up import new_contender
from tests.bench.results import CellResult, Entry, Run
from tests.support.broker import Broker
from tests.support.commands import ROOT

# What a contender may fail with; the others go on without it.
FAILURES = (AlluviumError, PySparkException, Py4JError, DeltaError)
PARTITIONS = 2
# The client's queue holds so many, and no more.
AT_ONCE = 50_000
Tell = Callable[[str], None]
NewContender = Callable[[str], Contender]


@dataclass(frozen=True)
class Plays:
    """How often: warm-up rounds are not counted."""

    rounds: int
    warm_ups: int
    seed: int

    @property
    def total(self) -> int:
        return self.warm_ups + self.rounds


@dataclass(frozen=True)
class Stage:
    """What all cells share."""

    spark: SparkSession
    broker: Broker
    bases: Bases
    heap: Heap
    folder: Path
    tell: Tell


class Sender:
    """Batches into one topic, and where each of them lies there."""

    def __init__(self, broker: Broker, topic: TopicClient) -> None:
        self._broker, self._topic = broker, topic
        self._ends: Offsets = topic.available().ends

    def send(self, rows: Sequence[Row]) -> Sent:
        for first in range(0, len(rows), AT_ONCE):
            some = records(rows[first : first + AT_ONCE])
            self._broker.produce(self._topic.names[0], [(record.key, record.value) for record in some])
        start, self._ends = self._ends, self._topic.available().ends
        planned = Plan(start, self._ends)
        assert planned.records == len(rows), "somebody else writes to the topic"
        return Sent(rows, planned, bound_of(rows))


def play(cell: Cell, stage: Stage, plays: Plays, new: NewContender = new_contender) -> CellResult:
    """All rounds of a cell; afterwards every table is compared with what the batches add up to."""
    folder = cleared(stage.folder / "copies")
    topic = TopicClient(stage.broker.address, stage.broker.create_topic(partitions=PARTITIONS))
    base = stage.bases.delta(cell.base)
    place = Place(stage.spark, base, pipeline(cell.base.layout), topic, folder)
    players = prepared(cell, place, stage.tell, new)
    entries = {name: Entry(contender=name) for name in cell.contenders}
    sender, batches = Sender(stage.broker, topic), Batches(cell.base, cell.batch, plays.seed)
    chance = random.Random(f"{plays.seed}/{cell.name}")
    # What those have been sent who play each round, and what those who play less often.
    sent_rows: dict[int, list[Row]] = {cell.turn_of(name): [] for name in cell.contenders}
    for number in range(plays.total):
        sent = sender.send(batches.batch(number))
        turns = [turn for turn in sent_rows if (number + 1) % turn == 0]
        for turn in turns:
            sent_rows[turn] += sent.rows
        standing = [each for each in players if entries[each.name].wrong is None and cell.turn_of(each.name) in turns]
        for contender in chance.sample(standing, len(standing)):
            entry = entries[contender.name]
            take_turn(contender, sent, stage.heap, entry, number - plays.warm_ups)
            if entry.wrong is not None:
                stage.tell(f"  {contender.name} {entry.wrong}")
        stage.tell(f"  round {number + 1}/{plays.total}: {told(entries, standing)}")
    for turn, rows in sent_rows.items():
        mark_wrong(place, [each for each in players if cell.turn_of(each.name) == turn], entries, rows)
    for entry in entries.values():
        stage.tell(f"  {entry.contender}: {entry.wrong or 'its table is right'}")
    stage.broker.delete_topic(topic.names[0])
    shutil.rmtree(folder)
    return CellResult(name=cell.name, **vars(cell.base), batch=cell.batch, rows=len(sent.rows), entries=entries)


def cleared(folder: Path) -> Path:
    """Empty, and there."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def prepared(cell: Cell, place: Place, tell: Tell, new: NewContender) -> list[Contender]:
    players = []
    for name in cell.contenders:
        contender = new(name)
        contender.prepare(place)
        players.append(contender)
    tell(f"  {len(players)} copies of {place.base.digest.rows:,} rows are ready")
    return players


def take_turn(contender: Contender, sent: Sent, heap: Heap, entry: Entry, number: int) -> None:
    """One batch by one contender; a negative number is a warm-up."""
    table: Table = contender.table
    before = table.reach(sent.bound if contender.is_bounded else None)
    holding = table.reach(exact_bound_of(sent.rows)).candidates
    heap.empty()
    try:
        timing = contender.run(sent)
    except FAILURES as error:
        entry.wrong = f"failed: {first_line(error)[:200]}".replace(str(ROOT), ".")
        return
    peak = heap.peak()
    rewrite = table.advance()
    if number < 0:
        return
    candidates = before.candidates if timing.candidates is None else timing.candidates
    entry.runs.append(
        Run(
            round=number,
            seconds=round(timing.seconds, 4),
            wall=round(timing.wall, 4),
            stages=timing.stages,
            files=before.files,
            candidates=candidates,
            candidate_bytes=before.candidate_bytes if candidates else 0,
            holding=holding,
            bytes_added=rewrite.added,
            bytes_removed=rewrite.removed,
            heap=peak if contender.in_jvm else None,
        )
    )


def told(entries: dict[str, Entry], players: Sequence[Contender]) -> str:
    """The last time of each, once rounds count."""
    last = [(each.name, entries[each.name].runs[-1].seconds) for each in players if entries[each.name].runs]
    return ", ".join(f"{name} {seconds:.2f}" for name, seconds in last) or "warm-up"


def mark_wrong(place: Place, players: Sequence[Contender], entries: dict[str, Entry], rows: Sequence[Row]) -> None:
    """A table that does not hold what it should is not ranked, however fast it was written."""
    spark, held = place.spark, place.base.digest
    base = spark.read.format("delta").load(str(place.base.path))
    merged, appended = after_merging(base, held, rows), after_appending(spark, held, rows)
    for contender in players:
        entry = entries[contender.name]
        if entry.wrong is None:
            wanted = appended if contender.name == "append" else merged
            entry.wrong = difference(digest_of(contender.table.rows(spark)), wanted)


def difference(found: Digest, wanted: Digest) -> str | None:
    if found == wanted:
        return None
    if found.rows != wanted.rows:
        return f"wrong: {found.rows:,} rows instead of {wanted.rows:,}"
    return "wrong: the rows are not those that were sent"
