"""Steps of a record through the files of the project, and how often a reader changes the file."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, pairwise

# From one file to another, or within one.
Move = tuple[str, str]
STAY, NEW, RETURN = " ", "→", "↩"


@dataclass(frozen=True)
class Step:
    """One call of a function, and the file from which it was called."""

    file: str
    function: str
    says: str
    depth: int
    caller: str


@dataclass(frozen=True)
class Hops:
    """How many files a reader sees, how often the file changes, and how often into one that was seen before."""

    files: int
    hops: int
    returns: int


def steps_of(calls: Sequence[Step]) -> list[Step]:
    """Keep the first call of each function, from the first call of the outermost function on.

    What comes before that still belongs to the batch before.
    """
    top = min((call.depth for call in calls), default=0)
    first: dict[tuple[str, str], Step] = {}
    for call in dropwhile(lambda call: call.depth > top, calls):
        first.setdefault((call.file, call.function), call)
    return list(first.values())


def marks(moves: Iterable[Move]) -> Iterator[str]:
    """Mark each move: as a hop into a new file, as a return into one that was seen, or as none of the two.

    The file of the first move is seen from the beginning.
    """
    seen: set[str] = set()
    for before, after in moves:
        seen.add(before)
        yield STAY if before == after else RETURN if after in seen else NEW
        seen.add(after)


def count_hops(moves: Sequence[Move]) -> Hops:
    """Count the moves into another file."""
    counted = Counter(marks(moves))
    files = {file for move in moves for file in move}
    return Hops(len(files), counted[NEW] + counted[RETURN], counted[RETURN])


def openings(steps: Sequence[Step]) -> list[Move]:
    """List the moves of a reader who follows calls, with two files open: the caller's and that of the step before."""
    before = [None, *(step.file for step in steps)]
    return [
        (step.file if step.file == last else step.caller, step.file) for last, step in zip(before, steps, strict=False)
    ]


def calls(steps: Sequence[Step]) -> list[Move]:
    """List the moves from each caller to the function that it calls."""
    return [(step.caller, step.file) for step in steps]


def in_order(steps: Sequence[Step]) -> list[Move]:
    """List the moves from each step to the next one."""
    return list(pairwise(step.file for step in steps))


def with_ways_back(steps: Sequence[Step]) -> list[Move]:
    """List the moves of a reader who goes back to the caller before each call."""
    return list(pairwise(file for step in steps for file in (step.caller, step.file)))


def step_lines(steps: Sequence[Step]) -> Iterator[str]:
    """Write one line a step, with its mark, indented by the depth of its call."""
    top = min((step.depth for step in steps), default=0)
    for mark, step in zip(marks(openings(steps)), steps, strict=True):
        says = f"  {step.says}" if step.says else ""
        yield f"{mark} {'  ' * (step.depth - top)}{step.file}  {step.function}{says}"
