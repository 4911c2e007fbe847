"""Locks between processes, because Delta guards its log on a local file system only inside one JVM.

Python holds one, and the JVM another, because the JVM is the process that commits.
"""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import structlog
from py4j.protocol import Py4JError

from common import stop
from common.errors import Locked
from common.settings.environment import run_id
from common.settings.locations import Location, is_delta_table
from common.spark.jvm import cached_class, running_jvm

log = structlog.get_logger()
COMMIT_WAIT_SECONDS = 600.0
POLL_SECONDS = 0.1
LONGER_THAN_ANY_JOB_DAYS = 36_500


@contextmanager
def job_lock(table: Location) -> Iterator[None]:
    """Hold the lock for a job's life. A second job on the same table fails at once, and names the owner."""
    if table.local is None:
        log.warning("no lock on this file system: run one driver a table", table=str(table))
        yield
        return
    with _file_lock(table.local / "_alluvium" / "job.lock", table):
        try:
            yield
        finally:
            if not is_delta_table(table):
                _remove_traces(table.local, "job.lock")


@contextmanager
def commit_lock(table: Location, wait_seconds: float = COMMIT_WAIT_SECONDS) -> Iterator[None]:
    """Hold the lock for one write phase, or for one chunk of maintenance. Wait for it with a bound.

    So maintenance runs beside a stream, and neither makes the other's commit fail. Python and the JVM hold a lock each:
    if one of the two is killed, nobody else commits while the other still might.
    """
    if table.local is None:
        yield
        return
    folder = table.local / "_alluvium"
    with _file_lock(folder / "commit.lock", table, wait_seconds):
        try:
            with _jvm_lock(folder / "jvm.lock", table, wait_seconds):
                yield
        except BaseException:
            if not is_delta_table(table):
                _remove_traces(table.local, "commit.lock", "jvm.lock")
            raise


@contextmanager
def _file_lock(path: Path, table: Location, wait_seconds: float = 0) -> Iterator[None]:
    until = time.monotonic() + wait_seconds
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+") as file:
            _take(file, table, until)
            # A failed base load removes its lock file with the folder. Then our lock is on a file that nobody opens.
            if path.exists() and os.fstat(file.fileno()).st_ino == path.stat().st_ino:
                yield
                return


def _take(file: IO[str], table: Location, until: float) -> None:
    while not _taken(file):
        if time.monotonic() >= until:
            raise Locked(f"{table} is in use by {_owner(file)}", "wait for it to finish, or stop it")
        stop.check()
        time.sleep(POLL_SECONDS)
    file.truncate(0)
    file.write(f"{run_id()}, process {os.getpid()} on {socket.gethostname()}")
    file.flush()


def _taken(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _jvm_lock(path: Path, table: Location, wait_seconds: float) -> Iterator[None]:
    """Let this process's JVM hold a lock, and wait for it with a bound.

    When Python is killed, its own locks are released at once. The JVM may be in the midst of a commit then, and needs a
    moment to notice. This lock ends with the JVM: docs/adr/0015-a-lock-of-the-jvm.md. A process without a JVM can
    commit nothing, and needs no lock. The caller holds Python's lock already, so that only the JVM of a killed job can
    hold this one.
    """
    jvm = running_jvm()
    if jvm is None:
        yield
        return
    file = cached_class(jvm, "java.io.RandomAccessFile")(str(path), "rw")
    kept = reference_to(file, jvm)
    try:
        take_in_jvm(file, table, time.monotonic() + wait_seconds)
        yield
    finally:
        # Without an answer the JVM has ended, and the lock with it.
        with suppress(Py4JError, OSError):
            file.close()
            kept.cancel(True)  # noqa: FBT003


def reference_to(file: Any, jvm: Any) -> Any:
    """Let the JVM itself refer to the file, until the reference is cancelled.

    Py4J drops its references as soon as Python has ended. Java closes a file without references, and that would release
    the lock while the commit still runs.
    """
    days = cached_class(jvm, "java.util.concurrent.TimeUnit").DAYS
    return cached_class(jvm, "java.util.concurrent.CompletableFuture")().completeOnTimeout(
        file, LONGER_THAN_ANY_JOB_DAYS, days
    )


def take_in_jvm(file: Any, table: Location, until: float) -> None:
    channel, warned = file.getChannel(), False
    while channel.tryLock() is None:
        if not warned:
            log.warning("waiting for the JVM of a job that was killed", table=str(table))
            warned = True
        if time.monotonic() >= until:
            raise Locked(f"{table} is in use by the JVM of a job that was killed", "wait for it to end, or stop it")
        time.sleep(POLL_SECONDS)


def _remove_traces(folder: Path, *locks: str) -> None:
    """Remove what a failed load leaves: its lock files, and each folder that is empty without them."""
    for name in locks:
        (folder / "_alluvium" / name).unlink(missing_ok=True)
    for emptied in (folder / "_alluvium", folder):
        if emptied.is_dir() and not any(emptied.iterdir()):
            emptied.rmdir()


def _owner(file: IO[str]) -> str:
    file.seek(0)
    age = time.time() - Path(file.name).stat().st_mtime
    return f"{file.read().strip() or 'another process'}, for {age:.0f} s"
