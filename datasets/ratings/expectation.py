"""A model of the table in plain Python: the rows that a reader of all ratings, in their order, would write."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import astuple
from datetime import UTC, datetime
from typing import Any

from datasets.ratings.events import Event

REASONS = {
    "magic": "BAD_MAGIC",
    "short": "NO_HEADER",
    "cut": "NOT_AVRO",
    "trailing": "TRAILING_BYTES",
    "unknown": "UNKNOWN_SCHEMA",
}
Row = tuple[Any, ...]


class Model:
    """Rows by event_id, and the number of messages that left no row of their own."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.rows: dict[str, Row] = {}
        self.late = 0
        self.reasons: Counter[str] = Counter()
        self.count = 0
        for event in events:
            self.count += 1
            if event.damage is not None:
                self.reasons[REASONS[event.damage]] += 1
            elif event.kind == "late":
                self.late += 1
            else:
                day = datetime.fromtimestamp(event.rating.rating_timestamp, UTC).date()
                self.rows[event.key] = (*astuple(event.rating), day)

    @property
    def repeated(self) -> int:
        """Duplicates and updates: messages of an event that has its row already."""
        return self.count - len(self.rows) - self.late - self.reasons.total()
