"""Handle SIGTERM and SIGINT of a job, whether this process gets them, or the JVM of spark-submit, or both.

systemd and Ctrl-C signal both. `docker stop`, Kubernetes and `kill` signal the process that they know, which is the
JVM, because submit.sh becomes spark-submit. By itself the JVM would then close Spark while Python still uses it. So it
gets a handler that only informs Python. The JVM ends when Python does, with Python's exit code.
"""

import os
import signal
import sys
import threading
import time
from _thread import interrupt_main
from collections import Counter
from contextlib import suppress
from types import FrameType
from typing import Any

from common import stop
from common.settings.environment import launched_by_spark_submit

HALT_SECONDS = 2.0
OURS, OF_THE_JVM = "ours", "of the JVM"
# Signals by the process that got them. One signal may reach both; only a second one to the same process counts as one.
_heard: Counter[str] = Counter()
# Set while the JVM's signal is on its way to the main thread, where it arrives like one of Python's.
_passed_on = threading.Event()


def handle_signals() -> None:
    """Let the first signal end a job when nothing is half done, and the second one end it at once.

    An ignored signal stays ignored: `nohup` and shells rely on it for processes in the background.
    """
    handled = [each for each in stop.SIGNALS if signal.getsignal(each) != signal.SIG_IGN]
    for each in handled:
        signal.signal(each, _on_signal)
    if launched_by_spark_submit():
        _handle_in_jvm(handled)


def _on_signal(number: int, _: FrameType | None) -> None:
    """Handle a signal in the main thread, where Python calls this between two instructions."""
    if _passed_on.is_set():
        _passed_on.clear()
    else:
        _hear(signal.Signals(number), OURS)
    if stop.is_prompt():
        stop.check()


class JvmHandler:
    """The JVM's handler of one signal. The JVM calls it in a thread of its own."""

    def __init__(self, which: signal.Signals) -> None:
        self._which = which

    def handle(self, _: Any) -> None:
        _hear(self._which, OF_THE_JVM)
        if stop.is_prompt() and not _heard[OURS]:
            _passed_on.set()
            interrupt_main(self._which)

    class Java:
        implements = ("sun.misc.SignalHandler",)


def _handle_in_jvm(signals: list[signal.Signals]) -> None:
    """Register the handlers in the JVM, by the gateway that the session will use too."""
    # Imported here, because a job without Spark does not need them.
    from py4j.protocol import Py4JError  # noqa: PLC0415

    from common.spark.jvm import gateway_with_callbacks  # noqa: PLC0415

    try:
        java = gateway_with_callbacks().jvm.sun.misc.Signal
        for each in signals:
            java.handle(java(each.name.removeprefix("SIG")), JvmHandler(each))
    except (OSError, Py4JError):
        if not _is_orphan():
            raise
        # The JVM was signalled before it had our handler, and has ended.
        raise stop.Stopped(signal.SIGTERM, "before it began") from None


def _hear(which: signal.Signals, by_whom: str) -> None:
    _heard[by_whom] += 1
    if _heard[by_whom] > 1:
        _end_at_once(which)
    stop.request(which)


def _end_at_once(which: signal.Signals) -> None:
    """End the JVM first, so that it commits nothing after our locks are released, and then this process."""
    stopped = stop.Stopped(which, "at once", "what was under way is let go, as after a power cut; start it again")
    print(stopped, file=sys.stderr, flush=True)
    if launched_by_spark_submit():
        halting = threading.Thread(target=_halt_jvm, args=(stopped.exit_code,), daemon=True)
        halting.start()
        halting.join(HALT_SECONDS)
        if not _is_orphan():
            os.kill(os.getppid(), signal.SIGKILL)
    os._exit(stopped.exit_code)


def _halt_jvm(exit_code: int) -> None:
    """Halt the JVM. Run in a thread of its own, with its own connection, because the main thread may be in a call."""
    from py4j.protocol import Py4JError  # noqa: PLC0415

    from common.spark.jvm import java_gateway  # noqa: PLC0415

    # No answer comes, because the JVM has ended.
    with suppress(OSError, Py4JError):
        java_gateway().jvm.java.lang.Runtime.getRuntime().halt(exit_code)
    while not _is_orphan():
        time.sleep(0.01)


_parent = os.getppid()


def _is_orphan() -> bool:
    return os.getppid() != _parent
