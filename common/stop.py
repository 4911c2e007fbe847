"""The request to stop, after SIGTERM or SIGINT. Work checks it where it can end with nothing half done.

What a signal does depends on what is under way:

before Spark   nothing is written yet, and a `Stopped` is raised in the main thread
with Spark     Spark's jobs are cancelled, which fails the operation that waits for them; the locks are held until
               it has failed, because a commit of the JVM may still be on its way
`deferred`     nothing is cancelled: the work calls `check` or `requested`, and ends by itself
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CANCEL_AGAIN_SECONDS = 0.2
# The shell's convention: a process that ended by signal N has the exit code 128 + N.
BY_SIGNAL = 128


class Stopped(BaseException):
    """The work was ended by a signal, with nothing half done. No Exception, so that no error handler catches it."""

    def __init__(self, by: signal.Signals, when: str = "", remedy: str = "nothing is half done, run it again") -> None:
        super().__init__(by, when, remedy)
        self.by, self.exit_code = by, BY_SIGNAL + by
        self._when, self._remedy = when, remedy

    def __str__(self) -> str:
        return f"stopped by {' '.join(filter(None, (self.by.name, self._when)))}; {self._remedy}"


class _Request:
    """The one request of this process, and how it is carried out."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.by: signal.Signals | None = None
        self.cancel: Callable[[], object] | None = None
        self.is_deferred = False
        # A job never sets it, because the process ends.
        self.met = threading.Event()


_request = _Request()


def requested() -> bool:
    return _request.by is not None


def check() -> None:
    """Raise Stopped where a request was made. Call it where nothing is half done."""
    if requested():
        raise stopped()


def stopped() -> Stopped:
    """Build the exception for the request that was made."""
    return Stopped(_request.by or signal.SIGTERM)


def request(by: signal.Signals) -> None:
    """Make the request. Where Spark works and may be interrupted, cancel its jobs until the process ends."""
    with _request.lock:
        if _request.by is not None:
            return
        _request.by = by
        if _request.cancel is not None and not _request.is_deferred:
            threading.Thread(target=_keep_cancelling, args=(_request.cancel, _request.met), daemon=True).start()


def is_prompt() -> bool:
    """True as long as the main thread may be interrupted anywhere, which is before a Spark session is started."""
    return _request.cancel is None and not _request.is_deferred


def is_cancelling() -> bool:
    """True where a failing operation of Spark has most likely been cancelled."""
    return requested() and not _request.is_deferred


def cancel_by(cancel: Callable[[], object]) -> None:
    """Let a request call `cancel` from now on."""
    with _request.lock:
        _request.cancel = cancel
    check()


@contextmanager
def deferred() -> Iterator[None]:
    """Defer requests for work that checks them by itself. Raise Stopped where one was made before."""
    with _request.lock:
        check()
        before, _request.is_deferred = _request.is_deferred, True
    try:
        yield
    finally:
        _request.is_deferred = before


def _keep_cancelling(cancel: Callable[[], object], met: threading.Event) -> None:
    """Cancel repeatedly, because an operation may start another Spark job after the one that was cancelled."""
    cancel()
    while not met.wait(CANCEL_AGAIN_SECONDS):
        cancel()
