"""Read the services' logs: the end, what follows, and the line that explains a failure."""

import os
import re
import time
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path

TELLING = re.compile(r"error|fatal|exception|cannot|could not|failed|refused|denied|in use", re.IGNORECASE)
# The frames of a Java stack trace repeat what the line above them says.
FRAME = re.compile(r"^\s+(at |\.\.\. )")


def last_lines(path: Path, count: int) -> list[str]:
    with path.open(errors="replace") as file:
        return [line.rstrip("\n") for line in deque(file, maxlen=count)]


def telling_line(path: Path) -> str:
    """Return the last line that speaks of a failure, else the last one at all."""
    if not path.exists():
        return ""
    lines = [line.strip() for line in last_lines(path, 200) if line.strip() and not FRAME.match(line)]
    telling = [line for line in lines if TELLING.search(line)]
    return (telling or lines or [""])[-1][:300]


def follow(paths: Sequence[Path]) -> Generator[str, None, None]:
    """Yield new lines as they come, across restarts of the service, until the reader stops asking."""
    tails = [_Tail(path) for path in paths]
    try:
        while True:
            lines = [line for tail in tails for line in tail.new_lines()]
            yield from lines
            if not lines:
                time.sleep(0.2)
    finally:
        for tail in tails:
            tail.file.close()


class _Tail:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = path.open(errors="replace")
        self.file.seek(0, os.SEEK_END)

    def new_lines(self) -> list[str]:
        lines = [line.rstrip("\n") for line in self.file]
        if not lines and self._was_replaced():
            self.file.close()
            self.file = self.path.open(errors="replace")
        return lines

    def _was_replaced(self) -> bool:
        return self.path.exists() and os.fstat(self.file.fileno()).st_ino != self.path.stat().st_ino
