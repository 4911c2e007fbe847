"""Steps of a record through the files of the project, and how often a reader changes the file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Step:
    """One function that a batch enters for the first time."""

    file: str
    function: str
    says: str
    depth: int
    caller: str | None


@dataclass(frozen=True)
class Hops:
    """How often a reader changes the file, and how often into a file that was left before."""

    files: int
    hops: int
    returns: int


def count_hops(files: Sequence[str]) -> Hops:
    """Count the changes of the file in a sequence of visited files."""
    hops = [after for before, after in pairwise(files) if before != after]
    # Each file but the first is entered by one hop for the first time: every other hop leads back.
    seen = set(files)
    return Hops(len(seen), len(hops), len(hops) - max(len(seen) - 1, 0))


def files_entered(steps: Sequence[Step]) -> list[str]:
    """List the file of each step."""
    return [step.file for step in steps]


def files_read(steps: Sequence[Step]) -> list[str]:
    """List the files of a reader who goes back to the caller after each call, and only then into the next one."""
    return [file for step in steps for file in (step.caller, step.file) if file is not None]


def step_lines(steps: Sequence[Step]) -> Iterator[str]:
    """Write one line a step, indented by the depth of its call; → is a hop, ↩ a hop that is a return."""
    top = min((step.depth for step in steps), default=0)
    seen: set[str] = set()
    before = None
    for step in steps:
        mark = " " if step.file == before else "↩" if step.file in seen else "→"
        says = f"  {step.says}" if step.says else ""
        yield f"{mark} {'  ' * (step.depth - top)}{step.file}  {step.function}{says}"
        seen.add(step.file)
        before = step.file
