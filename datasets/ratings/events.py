"""The messages of the application, in the order in which they are sent: new ratings, and what goes wrong with them."""

import hashlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from datasets.draws import uniform
from datasets.ratings.damage import DAMAGES, Damage, damaged
from datasets.ratings.schemas import VERSIONS

HOUR, DAY = 3600, 86400
# In time for a bound of five days, with a day to spare for a test that takes long; late by it for certain.
RECENT_SECONDS, LATE_SECONDS, OLDEST_SECONDS = 3 * DAY, 5 * DAY + HOUR, 30 * DAY
USERS, MOVIES, TENTHS = 5_000, 800, 101
SUBJECTS = ("kind", "age", "version", "user", "movie", "rating", "approved", "earlier", "damage")

Kind = Literal["new", "update", "duplicate", "late", "broken"]


@dataclass(frozen=True)
class Shares:
    """The shares of a stream by kind; the rest is new. A retry sends a duplicate, a second thought an update."""

    broken: float = 0.01
    late: float = 0.05
    duplicate: float = 0.10
    update: float = 0.10

    def kind(self, lot: float) -> Kind:
        kinds: tuple[tuple[Kind, float], ...] = (
            ("broken", self.broken),
            ("late", self.late),
            ("duplicate", self.duplicate),
            ("update", self.update),
        )
        for kind, share in kinds:
            if lot < share:
                return kind
            lot -= share
        return "new"


@dataclass(frozen=True)
class Rating:
    """A rating as the table should have it."""

    event_id: str
    user_id: str
    movie_id: str
    rating: float
    is_approved: bool
    rating_timestamp: int


@dataclass(frozen=True)
class Event:
    """One message: a rating, the version of the schema it is written by, and what happens to its bytes."""

    kind: Kind
    rating: Rating
    version: int
    damage: Damage | None = None

    @property
    def key(self) -> str:
        return self.rating.event_id

    def sent(self, value: bytes) -> bytes:
        """Return the bytes that are sent: the value, or the damaged value."""
        return value if self.damage is None else damaged(value, self.damage)

    def fields(self) -> dict[str, object]:
        """Return the fields that the version's schema has."""
        rating = self.rating
        known = {**vars(rating), "film_id": rating.movie_id, "client": f"app/{self.version}"}
        return {str(each["name"]): known[str(each["name"])] for each in VERSIONS[self.version]}


class Lots:
    """Chance for each message of a stream, drawn for all of them at once."""

    def __init__(self, seed: int, count: int, now: int) -> None:
        self.seed, self.now = seed, now
        self._drawn = {subject: uniform(seed, subject, range(count)).tolist() for subject in SUBJECTS}

    def lot(self, subject: str, position: int) -> float:
        return float(self._drawn[subject][position])

    def below(self, subject: str, below: int, position: int) -> int:
        return int(self.lot(subject, position) * below)

    def event_id(self, position: int) -> str:
        """Return an id of its own for each `now`: at another time the same events have another rating_timestamp."""
        return self.identity(f"event at {self.now}", position)

    def identity(self, subject: str, number: int) -> str:
        digest = hashlib.blake2b(f"{self.seed}:{subject}:{number}".encode(), digest_size=16).digest()
        return str(uuid.UUID(bytes=digest, version=4))


def events(seed: int, count: int, now: int, shares: Shares | None = None) -> Iterator[Event]:
    """Yield `count` messages as they are sent around `now`, in seconds since 1970. An id keeps its rating_timestamp."""
    lots, shares = Lots(seed, count, now), shares or Shares()
    sent: list[Event] = []
    for position in range(count):
        event = _event(lots, position, now, shares.kind(lots.lot("kind", position)) if sent else "new", sent)
        if event.kind in {"new", "update"}:
            sent.append(event)
        yield event


def _event(lots: Lots, position: int, now: int, kind: Kind, sent: list[Event]) -> Event:
    if kind == "new":
        return Event("new", *_rating(lots, position, now - lots.below("age", RECENT_SECONDS, position)))
    if kind == "late":
        age = LATE_SECONDS + lots.below("age", OLDEST_SECONDS - LATE_SECONDS, position)
        return Event("late", *_rating(lots, position, now - age))
    earlier = sent[lots.below("earlier", len(sent), position)]
    if kind == "duplicate":
        return replace(earlier, kind="duplicate")
    second = _second_thought(lots, position, earlier)
    if kind == "update":
        return second
    return replace(second, kind="broken", damage=DAMAGES[lots.below("damage", len(DAMAGES), position)])


def _rating(lots: Lots, position: int, timestamp: int) -> tuple[Rating, int]:
    version = 1 + lots.below("version", len(VERSIONS), position)
    rating = Rating(
        event_id=lots.event_id(position),
        user_id=lots.identity("user", lots.below("user", USERS, position)),
        movie_id=lots.identity("movie", lots.below("movie", MOVIES, position)),
        rating=lots.below("rating", TENTHS, position) / 10,
        is_approved=version > 1 and lots.below("approved", 2, position) == 1,
        rating_timestamp=timestamp,
    )
    return rating, version


def _second_thought(lots: Lots, position: int, earlier: Event) -> Event:
    """Make another rating of the same event, perhaps by a newer or an older application."""
    rating, version = _rating(lots, position, earlier.rating.rating_timestamp)
    kept = replace(earlier.rating, rating=rating.rating, is_approved=rating.is_approved)
    return Event("update", kept, version)
