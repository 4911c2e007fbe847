"""Locks between processes: Delta guards its log on a local file system only inside one JVM."""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import structlog

from common.errors import Locked
from common.settings.environment import run_id
from common.settings.locations import Location, is_delta_table

log = structlog.get_logger()


@contextmanager
def job_lock(table: Location) -> Iterator[None]:
    """Held for a job's life; a second job on the same table gives up at once, naming the owner."""
    if table.local is None:
        log.warning("no lock on this file system: run one driver a table", table=str(table))
        yield
        return
    with _held(table.local / "_alluvium" / "job.lock", table):
        try:
            yield
        finally:
            if not is_delta_table(table):
                _remove_traces(table.local)


@contextmanager
def _held(path: Path, table: Location) -> Iterator[None]:
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as file:
            _take(file, table)
            # A failed base load removes its lock file with the folder: what we hold may be nobody's any more.
            if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                yield
                return


def _take(file: IO[str], table: Location) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Locked(f"{table} is in use by {_owner(file)}", "wait for it to finish, or stop it") from error
    file.truncate(0)
    file.write(f"{run_id()}, process {os.getpid()} on {socket.gethostname()}")
    file.flush()


def _remove_traces(folder: Path) -> None:
    """A load that failed leaves nothing: the lock, and each folder that is empty without it."""
    (folder / "_alluvium" / "job.lock").unlink(missing_ok=True)
    for emptied in (folder / "_alluvium", folder):
        if not any(emptied.iterdir()):
            emptied.rmdir()


def _owner(file: IO[str]) -> str:
    file.seek(0)
    age = time.time() - Path(file.name).stat().st_mtime
    return f"{file.read().strip() or 'another process'}, for {age:.0f} s"
