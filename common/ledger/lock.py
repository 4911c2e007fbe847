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
from common.settings.locations import Location

log = structlog.get_logger()


@contextmanager
def job_lock(table: Location) -> Iterator[None]:
    """Held for a job's life; a second job on the same table gives up at once, naming the owner."""
    if table.local is None:
        log.warning("no lock on this file system: run one driver a table", table=str(table))
        yield
        return
    folder = table.local / "_alluvium"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "job.lock").open("a+") as file:
        _take(file, table)
        yield


def _take(file: IO[str], table: Location) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise Locked(f"{table} is in use by {_owner(file)}", "wait for it to finish, or stop it") from error
    file.truncate(0)
    file.write(f"{run_id()}, process {os.getpid()} on {socket.gethostname()}")
    file.flush()


def _owner(file: IO[str]) -> str:
    file.seek(0)
    age = time.time() - Path(file.name).stat().st_mtime
    return f"{file.read().strip() or 'another process'}, for {age:.0f} s"
