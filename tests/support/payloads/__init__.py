"""Record values of many classes, drawn from a seed: half of them events, half of them what goes wrong.

A class says what its values are meant to be: an event (None), or a reason. `Payload.meant` is that intention and not
the truth: the oracle finds it out on its own, and the test compares all three.
"""

import random
from collections.abc import Iterator

from tests.support.payloads import broken, events, misfits, refused
from tests.support.payloads.kinds import ANY, KINDS, Payload
from tests.support.payloads.tokens import COLUMNS, MAX_BYTES

__all__ = ["ANY", "COLUMNS", "KINDS", "MAX_BYTES", "Payload", "broken", "events", "misfits", "payloads", "refused"]


def payloads(seed: int, half: int = 5_300) -> Iterator[Payload]:
    """About `half` events and as many others, evenly from all classes."""
    for is_event in (True, False):
        kinds = {name: kind for name, kind in KINDS.items() if (kind.meant is None) == is_event}
        bounded = sum(kind.most for kind in kinds.values() if kind.most)
        each = -(-(half - bounded) // sum(kind.most is None for kind in kinds.values()))
        for name, kind in kinds.items():
            draw = random.Random(f"{seed} {name}")
            for _ in range(kind.most or each):
                yield Payload(name, kind.meant, kind.make(draw))
