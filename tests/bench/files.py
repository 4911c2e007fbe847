"""The files of a Delta table, read from its log without Spark: to look must not warm what a contender pays for."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.bounds import Bound


@dataclass(frozen=True)
class File:
    """A data file: the month that its partition is of, and its first and last time where the log tells them."""

    size: int
    month: str | None
    times: tuple[str, str] | None

    def may_hold(self, bound: Bound) -> bool:
        if self.month is not None and self.month not in bound.months:
            return False
        return self.times is None or bound.meets(*self.times)


@dataclass(frozen=True)
class Reach:
    """Files and bytes that a batch may have to read, of so many files."""

    files: int
    candidates: int
    candidate_bytes: int


@dataclass(frozen=True)
class Rewrite:
    """What a commit wrote, and how much of the table it replaced."""

    added: int
    removed: int


class DeltaFiles:
    """A table's files as of the last commit that was looked at."""

    def __init__(self, table: Path) -> None:
        self._log = table / "_delta_log"
        self._version = -1
        self._files: dict[str, File] = {}
        self.advance()

    def reach(self, bound: Bound | None) -> Reach:
        """Without a bound every file is a candidate."""
        candidates = [file for file in self._files.values() if bound is None or file.may_hold(bound)]
        return Reach(len(self._files), len(candidates), sum(file.size for file in candidates))

    def advance(self) -> Rewrite:
        """Take in what was committed since."""
        added = removed = 0
        while (path := self._log / f"{self._version + 1:020d}.json").exists():
            self._version += 1
            actions = list(actions_of(path))
            leaving = {action["remove"]["path"] for action in actions if "remove" in action}
            removed += sum(self._files.pop(name).size for name in leaving)
            for action in actions:
                if "add" in action:
                    added += written(action["add"], again=action["add"]["path"] in leaving)
                    self._files[action["add"]["path"]] = file_of(action["add"])
        return Rewrite(added, removed)


def actions_of(commit: Path) -> Iterator[dict[str, Any]]:
    with commit.open() as lines:
        for line in lines:
            yield json.loads(line)


def written(add: dict[str, Any], *, again: bool) -> int:
    """A file that stands again with a deletion vector was not written again; the vector was."""
    vector = add.get("deletionVector")
    return int(vector["sizeInBytes"]) if again and vector else int(add["size"])


def file_of(add: dict[str, Any]) -> File:
    stats = json.loads(add.get("stats") or "{}")
    first, last = stats.get("minValues", {}).get("time"), stats.get("maxValues", {}).get("time")
    times = None if first is None or last is None else (first, last)
    return File(int(add["size"]), add["partitionValues"].get("month"), times)
