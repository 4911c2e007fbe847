"""Show the progress of sending: a bar on a terminal, else a line on stderr every few seconds."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

BAR_SECONDS = 0.1
LINE_SECONDS = 5.0

Report = Callable[[int], None]


@contextmanager
def progress(total: int, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> Iterator[Report]:
    """Return a function to call with the number of records sent so far, as often as one likes."""
    stream = stream or sys.stderr
    if not stream.isatty():
        yield at_most_every(LINE_SECONDS, lambda done: print(f"{done:,} of {total:,} records", file=stream), clock)
        return
    with _bar(stream) as bar:
        task = bar.add_task("sending", total=total)
        yield at_most_every(BAR_SECONDS, lambda done: bar.update(task, completed=done), clock, always=total)


def at_most_every(seconds: float, report: Report, clock: Callable[[], float], *, always: int | None = None) -> Report:
    """Drop a report that comes too soon after the last one, but never the report of `always`."""
    last = clock()

    def report_rarely(done: int) -> None:
        nonlocal last
        if clock() - last >= seconds or done == always:
            last = clock()
            report(done)

    return report_rarely


def _bar(stream: TextIO) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(file=stream), transient=True)
