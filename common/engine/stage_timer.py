"""Measure the seconds of each stage of a batch."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class StageTimer:
    """Seconds by the stage's name, in the order of the stages."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = self._seconds.get(name, 0.0) + time.monotonic() - began

    def seconds(self) -> dict[str, float]:
        return {name: round(seconds, 3) for name, seconds in self._seconds.items()}
