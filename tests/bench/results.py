"""What was measured, kept on disk after each cell, so that an interrupted run goes on."""

from pathlib import Path
from statistics import median
from typing import Literal

from pydantic import BaseModel, ConfigDict

MEGABYTE = 1_000_000


class Part(BaseModel):
    """No key beyond the declared ones."""

    model_config = ConfigDict(extra="forbid")


class Run(Part):
    """One batch by one contender. `wall` is by the clock; `seconds` is what is compared, the same unless it is said."""

    round: int
    seconds: float
    wall: float
    stages: dict[str, float] = {}
    files: int
    candidates: int
    candidate_bytes: int
    # Files whose range of times holds a key's: no bounds can do with less.
    holding: int
    bytes_added: int
    bytes_removed: int
    # None where the work is not done in the JVM.
    heap: int | None


class Entry(Part):
    """A contender in a cell: its counted runs, and why it is not ranked if it is not."""

    contender: str
    runs: list[Run] = []
    wrong: str | None = None

    @property
    def seconds(self) -> list[float]:
        return [run.seconds for run in self.runs]

    @property
    def heap(self) -> float | None:
        """The peak of a middling run, None where the work is not done in the JVM."""
        peaks = [run.heap for run in self.runs if run.heap is not None]
        return median(peaks) if peaks else None

    def beside(self, other: "Entry") -> tuple[list[float], list[float]]:
        """Seconds of both in the rounds that both have played."""
        mine, others = ({run.round: run.seconds for run in entry.runs} for entry in (self, other))
        shared = [number for number in mine if number in others]
        return [mine[number] for number in shared], [others[number] for number in shared]


class CellResult(Part):
    name: str
    scale: int
    grow: str
    layout: str
    batch: str
    rows: int
    entries: dict[str, Entry]

    def ranked(self, contender: str) -> Entry | None:
        """The contender's entry if it was measured and its table is right."""
        entry = self.entries.get(contender)
        return entry if entry is not None and entry.runs and entry.wrong is None else None


class CatchUp(Part):
    """Seconds for the whole topic, a figure a round; `stages` are those of ours in the last one."""

    events: int
    updates: int
    ours: list[float]
    append: list[float]
    stages: dict[str, float]
    wrong: str | None = None


class Memory(Part):
    """One merge by spark-submit with a small heap."""

    base: str
    rows: int
    heap_bytes: int
    exit_code: int
    said: str
    seconds: float


class Machine(Part):
    cores: int
    memory_gib: float
    system: str


class Result(Part):
    """One run of the benchmark."""

    alluvium_bench: Literal[1] = 1
    quick: bool
    seed: int
    rounds: int
    # Of the engine's sources: a result of other sources is not gone on with.
    engine: str
    machine: Machine
    versions: dict[str, str]
    java: str = ""
    left_out: list[str] = []
    cells: dict[str, CellResult] = {}
    # The cells whose rounds were played in turn with those of other sizes.
    growth: dict[str, CellResult] = {}
    catch_up: CatchUp | None = None
    memory: Memory | None = None

    def cell(self, size: str, batch: str, layout: str = "partitioned") -> CellResult | None:
        return self.cells.get(f"{size}-{layout}/{batch}")

    def entry(self, size: str, batch: str, contender: str) -> Entry | None:
        cell = self.cell(size, batch)
        return None if cell is None else cell.ranked(contender)

    def grown(self, size: str, batch: str, contender: str) -> Entry | None:
        """Of a growth: its rounds are those of the other sizes too."""
        cell = self.growth.get(f"{size}-partitioned/{batch}")
        return None if cell is None else cell.ranked(contender)

    def is_like(self, other: "Result") -> bool:
        """Of the same sources with the same parameters: what one has measured need not be measured for the other."""
        names = ("quick", "seed", "rounds", "engine", "machine", "versions")
        return all(getattr(self, name) == getattr(other, name) for name in names)


class Kept:
    """The result on disk while it grows."""

    def __init__(self, path: Path, new: Result, *, anew: bool) -> None:
        self._path = path
        found = Result.model_validate_json(path.read_text()) if path.exists() and not anew else None
        self.result = found if found is not None and found.is_like(new) else new

    def keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        partial.write_text(self.result.model_dump_json(indent=1) + "\n")
        partial.replace(self._path)

    def forget(self) -> None:
        self._path.unlink(missing_ok=True)
