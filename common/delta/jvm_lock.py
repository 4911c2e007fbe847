"""A lock that the JVM holds and not Python: of a job's two halves, the JVM is the one that commits.

When the Python half is killed, its own locks are gone at once, while the JVM may be in the midst of a commit and needs
a moment to notice that nobody is there any more. This lock ends with the JVM: docs/adr/0015-a-lock-of-the-jvm.md.
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
    """Held by this process's JVM, waited for with a bound. A process without a JVM can commit nothing, and needs none.

    The caller holds a lock of the Python half already: what keeps this one is the JVM of a job that was killed.
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
        # Without an answer the JVM is gone, and the lock with it.
        with suppress(Py4JError, OSError):
            file.close()
            kept.cancel(True)  # noqa: FBT003


def reference_to(file: Any, jvm: Any) -> Any:
    """Kept by the JVM until it is cancelled. Py4J drops what it holds for Python as soon as Python is gone, and Java
    closes a file that nobody refers to, which would give up the lock while the commit still runs."""
    days = cached_class(jvm, "java.util.concurrent.TimeUnit").DAYS
    return cached_class(jvm, "java.util.concurrent.CompletableFuture")().completeOnTimeout(
        file, LONGER_THAN_ANY_JOB_DAYS, days
    )


def take(file: Any, table: Location, until: float) -> None:
    channel, told = file.getChannel(), False
    while channel.tryLock() is None:
        if not told:
            log.warning("waiting for the JVM of a job that was killed", table=str(table))
            told = True
        if time.monotonic() >= until:
            raise Locked(f"{table} is in use by the JVM of a job that was killed", "wait for it to end, or stop it")
        time.sleep(POLL_SECONDS)
