"""A request to end: SIGTERM or SIGINT was heard. Work asks here where it can end with nothing half done.

What a signal does depends on what is under way:

before Spark   nothing is written yet, and a `Stopped` is raised in the main thread
with Spark     the jobs of Spark are cancelled, which fails the operation that is waiting for them; the locks stay
               until it has failed, because a commit of the JVM may still be on its way
`deferred`     nothing is cancelled: the work asks by `check` and `requested`, and ends by itself
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SIGNALS = (signal.SIGTERM, signal.SIGINT)
CANCEL_AGAIN_SECONDS = 0.2
# By the shell's custom: what a process that ended by a signal gives as its exit code.
BY_SIGNAL = 128


class Stopped(BaseException):
    """The work was ended by a signal, with nothing half done. No error, so nothing that handles errors catches it."""

    def __init__(self, by: signal.Signals, when: str = "", remedy: str = "nothing is half done, run it again") -> None:
        super().__init__(by, when, remedy)
        self.by, self.exit_code = by, BY_SIGNAL + by
        self._when, self._remedy = when, remedy

    def __str__(self) -> str:
        return f"stopped by {' '.join(filter(None, (self.by.name, self._when)))}; {self._remedy}"


class _Request:
    """The one request of this process, and how it is met."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.by: signal.Signals | None = None
        self.cancel: Callable[[], object] | None = None
        self.is_deferred = False
        # Nobody sets it in a job: the process ends.
        self.met = threading.Event()


_request = _Request()


def requested() -> bool:
    return _request.by is not None


def check() -> None:
    """Raise where a request was made: called where nothing is half done."""
    if requested():
        raise stopped()


def stopped() -> Stopped:
    """What is said of a request that was made."""
    return Stopped(_request.by or signal.SIGTERM)


def request(by: signal.Signals) -> None:
    """Make the request. Where Spark works, and may be interrupted, its jobs are cancelled until the process ends."""
    with _request.lock:
        if _request.by is not None:
            return
        _request.by = by
        if _request.cancel is not None and not _request.is_deferred:
            threading.Thread(target=_keep_cancelling, args=(_request.cancel, _request.met), daemon=True).start()


def is_prompt() -> bool:
    """True as long as the main thread may be interrupted wherever it is: before a Spark session is being started."""
    return _request.cancel is None and not _request.is_deferred


def is_cancelling() -> bool:
    """True where an operation of Spark that fails most likely does so because it was cancelled."""
    return requested() and not _request.is_deferred


def cancel_by(cancel: Callable[[], object]) -> None:
    """From now on a request cancels."""
    with _request.lock:
        _request.cancel = cancel
    check()


@contextmanager
def deferred() -> Iterator[None]:
    """For work that asks by itself. Raises where a request was made before."""
    with _request.lock:
        check()
        before, _request.is_deferred = _request.is_deferred, True
    try:
        yield
    finally:
        _request.is_deferred = before


def _keep_cancelling(cancel: Callable[[], object], met: threading.Event) -> None:
    """Again and again: an operation may start another job of Spark after the one that was cancelled."""
    cancel()
    while not met.wait(CANCEL_AGAIN_SECONDS):
        cancel()
