"""Repeatable chance: the same seed draws the same values in the same order."""

import random
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TypeVar

T = TypeVar("T")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# What an application really meets: accents, quotes, a backslash, another script, a character beyond 16 bits.
WORDS = ("north", "river", "Ærø", "o'clock", 'a "b"', "back\\slash", "東京", "🙂", "stone", "willow", "", "tab\there")
BEGIN = datetime(2025, 1, 1, tzinfo=UTC)


class Chance:
    """One stream of draws."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311  seeded on purpose, and never a secret

    def below(self, bound: int) -> int:
        """Draw an integer in [0, bound)."""
        return self._random.randrange(bound)

    def between(self, first: int, last: int) -> int:
        """Draw an integer from first to last, both of them possible."""
        return self._random.randint(first, last)

    def happens(self, share: float) -> bool:
        return self._random.random() < share

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def pick_some(self, choices: Sequence[T], count: int) -> list[T]:
        """Draw different elements, at most so many as there are."""
        return self._random.sample(list(choices), min(count, len(choices)))

    def weighted(self, weights: Mapping[str, int]) -> str:
        return self._random.choices(list(weights), list(weights.values()))[0]

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self.bytes(16), version=4)

    def letters(self, count: int) -> str:
        return "".join(self._random.choices(LETTERS, k=count))

    def words(self, count: int) -> str:
        return " ".join(self.pick(WORDS) for _ in range(count))

    def large_text(self) -> str:
        """Draw a text that PostgreSQL stores apart from its row (TOAST), and that does not compress to less."""
        return self.bytes(self.between(2_500, 6_000)).hex()

    def number(self, digits: int, scale: int) -> Decimal:
        """Draw a number with so many digits before the point, and so many behind it."""
        return Decimal(self.below(10 ** (digits + scale))).scaleb(-scale)

    def number_of_any_scale(self) -> Decimal:
        """Draw a number as a column without a scale may hold it, negative ones too."""
        return self.number(self.between(1, 12), self.between(0, 9)) * self.pick((1, 1, -1))

    def moment(self, days: int) -> datetime:
        """Draw a time of 2025, to the microsecond, within so many days of its beginning."""
        return BEGIN + timedelta(microseconds=self.below(days * 86_400_000_000))

    def day(self, first: date, days: int) -> date:
        return first + timedelta(days=self.below(days))
