"""Waiting for what another process or thread does, with a bound; what does not come fails the test."""

from collections.abc import Callable
from pathlib import Path

from common import waiting

WAIT_SECONDS = 60


def await_true(condition: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS, pause: float = 0.05) -> None:
    if not waiting.await_true(condition, seconds, pause):
        raise TimeoutError(f"{what} did not come within {seconds} s")


def await_file(path: Path, seconds: float = WAIT_SECONDS) -> None:
    await_true(path.exists, str(path), seconds)
