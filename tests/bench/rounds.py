"""A cell is played in rounds: everybody settles the same batch, in an order of chance, each into a table of its own."""

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
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
    (found,) = play_in_turn([cell], stage, plays, new)
    return found


def play_in_turn(
    cells: Sequence[Cell], stage: Stage, plays: Plays, new: NewContender = new_contender
) -> list[CellResult]:
    """All rounds of the cells, each round on all of them; afterwards every table is compared with what was sent."""
    folder = cleared(stage.folder / "copies")
    games = [Game(cell, stage, plays, folder / cell.base.name, new) for cell in cells]
    chance = random.Random("/".join([str(plays.seed), *(cell.name for cell in cells)]))
    for number in range(plays.total):
        for game in games:
            game.send(number)
        for name, at in in_turn(chance, [game.standing(number) for game in games]):
            games[at].take_turn(name, number)
        for game in games:
            stage.tell(f"  round {number + 1}/{plays.total}, {game.cell.base.size}: {game.told(number)}")
    found = [game.result() for game in games]
    shutil.rmtree(folder)
    return found


def in_turn(chance: random.Random, standing: Sequence[Sequence[str]]) -> Iterator[tuple[str, int]]:
    """Contender and number of the cell, in an order of chance.

    A contender plays on one cell right after the other, so that its times can be compared round by round.
    """
    names = list(dict.fromkeys(name for each in standing for name in each))
    for name in chance.sample(names, len(names)):
        where = [number for number, each in enumerate(standing) if name in each]
        yield from ((name, number) for number in chance.sample(where, len(where)))


class Game:
    """One cell while its rounds are played."""

    def __init__(self, cell: Cell, stage: Stage, plays: Plays, folder: Path, new: NewContender) -> None:
        self.cell, self._stage, self._plays = cell, stage, plays
        folder.mkdir()
        self._topic = TopicClient(stage.broker.address, stage.broker.create_topic(partitions=PARTITIONS))
        base = stage.bases.delta(cell.base)
        self._place = Place(stage.spark, base, pipeline(cell.base.layout), self._topic, folder)
        self._players = {each.name: each for each in prepared(cell, self._place, stage.tell, new)}
        self._entries = {name: Entry(contender=name) for name in cell.contenders}
        self._sender, self._batches = Sender(stage.broker, self._topic), Batches(cell.base, cell.batch, plays.seed)
        # What those have been sent who play each round, and what those who play less often.
        self._sent_rows: dict[int, list[Row]] = {cell.turn_of(name): [] for name in cell.contenders}

    def send(self, number: int) -> None:
        self._sent = self._sender.send(self._batches.batch(number))
        for turn, rows in self._sent_rows.items():
            if (number + 1) % turn == 0:
                rows.extend(self._sent.rows)

    def standing(self, number: int) -> list[str]:
        """Who plays this round: those whose turn it is, and who have not failed."""
        return [
            name
            for name, entry in self._entries.items()
            if entry.wrong is None and (number + 1) % self.cell.turn_of(name) == 0
        ]

    def take_turn(self, name: str, number: int) -> None:
        entry = self._entries[name]
        take_turn(self._players[name], self._sent, self._stage.heap, entry, number - self._plays.warm_ups)
        if entry.wrong is not None:
            self._stage.tell(f"  {name} {entry.wrong}")

    def told(self, number: int) -> str:
        return told(self._entries, self.standing(number))

    def result(self) -> CellResult:
        for turn, rows in self._sent_rows.items():
            players = [each for name, each in self._players.items() if self.cell.turn_of(name) == turn]
            mark_wrong(self._place, players, self._entries, rows)
        for entry in self._entries.values():
            self._stage.tell(f"  {entry.contender}: {entry.wrong or 'its table is right'}")
        self._stage.broker.delete_topic(self._topic.names[0])
        return CellResult(
            name=self.cell.name,
            **vars(self.cell.base),
            batch=self.cell.batch,
            rows=len(self._sent.rows),
            entries=self._entries,
        )


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


def told(entries: dict[str, Entry], players: Sequence[str]) -> str:
    """The last time of each, once rounds count."""
    last = [(name, entries[name].runs[-1].seconds) for name in players if entries[name].runs]
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
