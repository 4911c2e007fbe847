"""Fault points: named moments at which a test may end the process, so that every one of them is known to be survived.

ALLUVIUM_FAULT names a point, `merge`, or its third time, `merge:3`; ALLUVIUM_FAULT_FILE is where the process says that
it is there. Then it waits for its end. With `merge+` it says so and goes on: whoever watches ends it in the midst of
what follows. Without ALLUVIUM_FAULT a fault point is nothing.
"""

import os
import re
import sys
from collections import Counter
from pathlib import Path

from common import stop
from common.errors import UsageError
from common.settings.environment import fault, fault_file
from common.waiting import tries

# In the order of a batch's way; every name is used once in the code, and a test sees to it.
POINTS = (
    "started",
    "undone",
    "planned",
    "read",
    "accounted",
    "forgotten",
    "quarantine",
    "quarantined",
    "late",
    "merge",
    "committed",
    "checked",
    "copied",
    "reported",
    "optimize",
)
WAIT_SECONDS = 120
WANTED = re.compile(r"(?P<name>[a-z]+)(:(?P<time>[1-9]\d*))?(?P<going_on>\+)?")
_reached: Counter[str] = Counter()


def is_wanted() -> bool:
    """True where a test has named a point: it means one of a job's own batches."""
    return fault() is not None


def fault_point(name: str) -> None:
    """Nothing, unless a test has named this point."""
    wanted = fault()
    if wanted is None:
        return
    match = WANTED.fullmatch(wanted)
    if match is None or match["name"] not in POINTS:
        raise UsageError(f"ALLUVIUM_FAULT is '{wanted}'", f"name one of {', '.join(POINTS)}, as NAME, NAME:2 or NAME+")
    _reached[name] += 1
    if name == match["name"] and _reached[name] == int(match["time"] or 1):
        announce(fault_file())
        if not match["going_on"]:
            await_end()


def announce(file: Path) -> None:
    partial = file.with_suffix(".partial")
    partial.write_text(str(os.getpid()))
    partial.replace(file)


def await_end() -> None:
    """Wait for SIGKILL. An orphan ends itself, so that it holds no lock; who is told to stop goes on, and stops."""
    parent = os.getppid()
    for _ in tries(WAIT_SECONDS):
        if os.getppid() != parent:
            break
        if stop.requested():
            return
    sys.stderr.flush()
    os._exit(1)
