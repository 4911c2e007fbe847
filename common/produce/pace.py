"""Pace by a schedule that is fixed at the start, so that a late record does not delay all after it."""

import math
import time
from collections.abc import Callable

from common import stop
from common.errors import UsageError

# librdkafka counts in whole milliseconds. A shorter pause would be none, and the wait a busy loop.
SHORTEST_PAUSE = 0.001
# A longer pause would keep a signal waiting.
LONGEST_PAUSE = 0.5


class Pace:
    """Let the nth record go n / rate seconds after the first; without a rate, at once."""

    def __init__(
        self, rate: float | None, pause: Callable[[float], object], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Take a `pause` that may return early, because the clock decides."""
        self._rate = check_rate(rate)
        self._pause = pause
        self._clock = clock
        self._start: float | None = None

    def wait_for(self, position: int) -> None:
        if self._rate is None:
            return
        if self._start is None:
            self._start = self._clock()
        due = self._start + position / self._rate
        while (left := due - self._clock()) > 0 and not stop.requested():
            self._pause(min(max(left, SHORTEST_PAUSE), LONGEST_PAUSE))


def check_rate(rate: float | None) -> float | None:
    if rate is not None and not (rate > 0 and math.isfinite(rate)):
        raise UsageError(
            f"--rate {rate:g} is not a number of records a second", "give one above 0, or none for full speed"
        )
    return rate
