"""Wait with a bound: try again and again, with pauses, until something has come or the time is over."""

import time
from collections.abc import Callable, Iterator

PAUSE_SECONDS = 0.05


def tries(seconds: float, pause: float = PAUSE_SECONDS, longest_pause: float = 0) -> Iterator[float]:
    """Yield the seconds that have passed, once for each try. The first comes at once, and none comes after the bound.

    A pause doubles each time up to the longest one, where that is given.
    """
    began = time.monotonic()
    while True:
        yield time.monotonic() - began
        if time.monotonic() + pause > began + seconds:
            return
        time.sleep(pause)
        pause = max(pause, min(2 * pause, longest_pause))


def await_true(condition: Callable[[], bool], seconds: float, pause: float = PAUSE_SECONDS) -> bool:
    """Return True as soon as the condition is true, and False after the bound."""
    return any(condition() for _ in tries(seconds, pause))
