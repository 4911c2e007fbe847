"""Fault points: named moments at which a test may end the process, to show that a job survives each of them.

ALLUVIUM_FAULT names a point, `merge`, or its third time, `merge:3`. When the process reaches it, it writes the file
ALLUVIUM_FAULT_FILE and waits to be killed. With `merge+` it writes the file and goes on, so that the test can kill it
in the midst of what follows. Without ALLUVIUM_FAULT a fault point does nothing.
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

# In the order in which a batch reaches them. A test checks that every name is used once in the code.
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
    """True where a test has named a point. It is meant for a job's own batches, and not for its warm-up."""
    return fault() is not None


def fault_point(name: str) -> None:
    """Announce and wait where a test has named this point; do nothing otherwise."""
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
    """Wait for SIGKILL. An orphan ends itself, so that it holds no lock. A request to stop ends the wait."""
    parent = os.getppid()
    for _ in tries(WAIT_SECONDS):
        if os.getppid() != parent:
            break
        if stop.requested():
            return
    sys.stderr.flush()
    os._exit(1)
