"""What is measured: a cell is one table, one kind of batch, and those who merge it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from datasets.weather.extent import Grow

Layout = Literal["plain", "partitioned", "zordered", "liquid"]
BatchName = Literal["new-144", "newest-144", "newest-2000", "late-144", "random-144"]

OURS = ("ours-batch", "ours-stream")
TUNED = ("tuned", "tuned-bounds")
DELTA_RS = ("delta-rs", "delta-rs-bounds")
ICEBERG = ("iceberg-cow", "iceberg-cow-bounds", "iceberg-mor", "iceberg-mor-bounds")
ALL = (*OURS, "stock", *TUNED, *DELTA_RS, *ICEBERG, "append")
# Ours on a table that keeps a change feed.
FEED = "ours-batch-feed"
GIVEN_BOUNDS = tuple(name for name in ALL if name.endswith("-bounds"))
# Without bounds a MERGE into a large table takes many times as long. One of them says so: the tuned one.
BOUNDED = (*OURS, "tuned", *GIVEN_BOUNDS, "append")
# Seconds of one warm batch on two cores, at 1 and at 100 times the base table: only to say how long a run will take.
TYPICAL: dict[str, tuple[float, float]] = {
    "ours-batch": (0.7, 0.7),
    "ours-stream": (2.0, 2.0),
    "stock": (5.0, 25.0),
    "tuned": (2.3, 10.0),
    "tuned-bounds": (1.9, 1.6),
    "delta-rs": (0.1, 6.0),
    "delta-rs-bounds": (0.1, 0.3),
    "iceberg-cow": (0.9, 19.0),
    "iceberg-cow-bounds": (0.9, 0.9),
    "iceberg-mor": (0.9, 29.0),
    "iceberg-mor-bounds": (0.6, 0.5),
    "append": (0.3, 0.3),
}
# Who takes longer for a batch plays only each third round: five counted ones tell enough of who is so far behind.
SLOW_SECONDS, SLOW_TURN = 15.0, 3
# Between two batches: the heap is emptied, and the table's files are looked at.
BESIDE_SECONDS = 0.5
# To load, write for Iceberg and digest each 210,384 rows of a base table that is not there yet.
BASE_SECONDS = 2.0


@dataclass(frozen=True)
class Base:
    """The table that a cell begins with."""

    scale: int
    grow: Grow
    layout: Layout

    @property
    def size(self) -> str:
        """One time the base is the same table in both ways of growing."""
        return "1x" if self.scale == 1 else f"{self.scale}x-{self.grow}"

    @property
    def name(self) -> str:
        return f"{self.size}-{self.layout}"


@dataclass(frozen=True)
class Cell:
    """One line of plots: contenders that all settle the same batches into copies of the same table."""

    base: Base
    batch: BatchName
    contenders: Sequence[str]

    @property
    def name(self) -> str:
        return f"{self.base.name}/{self.batch}"

    def turn_of(self, contender: str) -> int:
        """Whether each round is one of its own, or each third."""
        return SLOW_TURN if typical(contender, self.base.scale) > SLOW_SECONDS else 1

    def seconds(self, rounds: int) -> float:
        """About how long it takes."""
        return rounds * sum(
            (typical(name, self.base.scale) + BESIDE_SECONDS) / self.turn_of(name) for name in self.contenders
        )


@dataclass(frozen=True)
class Growth:
    """Tables of several sizes under one kind of batch.

    Each round is played on every size before the next round begins, so that what slows the machine for some minutes
    slows every size alike.
    """

    batch: BatchName
    bases: Sequence[Base]
    contenders: Sequence[str]

    @property
    def name(self) -> str:
        return f"growth/{self.batch}"

    @property
    def cells(self) -> list[Cell]:
        return [Cell(base, self.batch, self.contenders) for base in self.bases]


def seconds_of(cells: Sequence[Cell], rounds: int) -> float:
    """About how long they take, if no base table is there yet."""
    bases = {cell.base for cell in cells}
    return sum(cell.seconds(rounds) for cell in cells) + sum(base.scale * BASE_SECONDS for base in bases)


def typical(contender: str, scale: int) -> float:
    small, large = TYPICAL.get(contender, TYPICAL["ours-batch"])  # Or one of ours, with a setting changed.
    return small + (large - small) * scale / 100


def full_cells() -> Iterator[Cell]:
    """In the order of what matters, so that an interrupted run has measured the most."""
    ones = [Base(1, "years", "partitioned")]
    ten = Base(10, "years", "partitioned")
    hundreds = [Base(100, grow, "partitioned") for grow in ("years", "locations")]
    yield Cell(ones[0], "newest-144", ALL)
    # Iceberg's MERGE without bounds takes 20 to 30 seconds there: one of the two is enough.
    yield Cell(hundreds[0], "newest-144", tuple(name for name in ALL if name != "iceberg-mor"))
    yield Cell(hundreds[1], "newest-144", BOUNDED)
    for base in (*ones, *hundreds):
        yield Cell(base, "new-144", (*OURS, "append"))
        yield Cell(base, "late-144", (*OURS, *GIVEN_BOUNDS))
    # There are not enough years for a thousand times four of them.
    yield Cell(Base(1000, "locations", "partitioned"), "newest-144", BOUNDED)
    for layout in ("zordered", "liquid"):
        yield Cell(Base(100, "years", layout), "newest-144", (*OURS, "tuned-bounds"))
    # Without any layout everybody but delta-rs takes 15 s at a hundred times the table.
    yield Cell(
        Base(10, "years", "plain"), "newest-144", (*OURS, "tuned-bounds", "iceberg-cow-bounds", "delta-rs-bounds")
    )
    yield Cell(ten, "newest-144", BOUNDED)
    # Each of its keys lies in another file: at a hundred times the table a round of all takes a minute.
    yield Cell(ones[0], "random-144", (*OURS, *GIVEN_BOUNDS))


def quick_cells() -> Iterator[Cell]:
    """A few minutes: whether everything works, and a first look at the figures."""
    yield Cell(Base(1, "years", "partitioned"), "newest-144", ALL)
    yield Cell(Base(10, "years", "partitioned"), "newest-144", ALL)
    yield Cell(Base(1, "years", "partitioned"), "new-144", (*OURS, "append"))


def full_growths() -> Iterator[Growth]:
    """What the promises about growth compare: one, a hundred and a thousand times the base."""
    ones, hundreds = (
        [Base(1, "years", "partitioned")],
        [Base(100, grow, "partitioned") for grow in ("years", "locations")],
    )
    bases = [*ones, *hundreds, Base(1000, "locations", "partitioned")]
    yield Growth("newest-144", bases, (*OURS, FEED, "append"))
    yield Growth("late-144", bases, (*OURS, "append"))


def quick_growths() -> Iterator[Growth]:
    bases = [Base(scale, "years", "partitioned") for scale in (1, 10)]
    yield Growth("newest-144", bases, (*OURS, FEED, "append"))


def selected_growths(growths: Iterator[Growth], wanted: Sequence[str], contenders: Sequence[str]) -> list[Growth]:
    """As for cells."""
    found = []
    for growth in growths:
        names = [name for name in growth.contenders if not contenders or name in contenders]
        if names and (not wanted or any(text in growth.name for text in wanted)):
            found.append(Growth(growth.batch, growth.bases, names))
    return found


def selected(cells: Iterator[Cell], wanted: Sequence[str], contenders: Sequence[str]) -> list[Cell]:
    """Those whose name contains one of the texts, with only the named contenders; without any of them, all."""
    found = []
    for cell in cells:
        names = [name for name in cell.contenders if not contenders or name in contenders]
        if names and (not wanted or any(text in cell.name for text in wanted)):
            found.append(Cell(cell.base, cell.batch, names))
    return found
