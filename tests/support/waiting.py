"""Waiting for what another process or thread does, with a bound."""

import time
from pathlib import Path

WAIT_SECONDS = 60


def await_file(path: Path, seconds: float = WAIT_SECONDS) -> None:
    until = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > until:
            raise TimeoutError(f"{path} did not come")
        time.sleep(0.05)
