"""The classes of record values, each registered where it is made."""

import random
from collections.abc import Callable
from dataclasses import dataclass

Draw = random.Random
Maker = Callable[[Draw], bytes | None]
# Any outcome may be meant: the payload is an event that something has been done to.
ANY = "any"


@dataclass(frozen=True)
class Payload:
    """A record value, the class it was drawn for, and what it is meant to be."""

    kind: str
    meant: str | None
    value: bytes | None


@dataclass(frozen=True)
class Kind:
    """A class of values; `most` bounds how many are drawn where one is large."""

    meant: str | None
    make: Maker
    most: int | None


KINDS: dict[str, Kind] = {}


def kind_of(meant: str | None, most: int | None = None) -> Callable[[Maker], Maker]:
    def register(make: Maker) -> Maker:
        KINDS[make.__name__] = Kind(meant, make, most)
        return make

    return register
