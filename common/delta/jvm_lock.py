"""A lock that the JVM holds and not Python, because the JVM is the process that commits.

When Python is killed, its own locks are released at once. The JVM may be in the midst of a commit then, and needs a
moment to notice. This lock ends with the JVM: docs/adr/0015-a-lock-of-the-jvm.md.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog
from py4j.protocol import Py4JError

from common.errors import Locked
from common.settings.locations import Location
from common.spark.jvm import cached_class, running_jvm

log = structlog.get_logger()
POLL_SECONDS = 0.1
LONGER_THAN_ANY_JOB_DAYS = 36_500


@contextmanager
def jvm_lock(path: Path, table: Location, wait_seconds: float) -> Iterator[None]:
    """Let this process's JVM hold the lock, and wait for it with a bound.

    A process without a JVM can commit nothing, and needs no lock. The caller holds Python's lock already, so that only
    the JVM of a killed job can hold this one.
    """
    jvm = running_jvm()
    if jvm is None:
        yield
        return
    file = cached_class(jvm, "java.io.RandomAccessFile")(str(path), "rw")
    kept = reference_to(file, jvm)
    try:
        take(file, table, time.monotonic() + wait_seconds)
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


def take(file: Any, table: Location, until: float) -> None:
    channel, warned = file.getChannel(), False
    while channel.tryLock() is None:
        if not warned:
            log.warning("waiting for the JVM of a job that was killed", table=str(table))
            warned = True
        if time.monotonic() >= until:
            raise Locked(f"{table} is in use by the JVM of a job that was killed", "wait for it to end, or stop it")
        time.sleep(POLL_SECONDS)
