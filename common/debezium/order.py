"""Which of two events of a key is the newer one. docs/cdc-order.md says why it is so.

An event that was streamed has a sequence of its source. An event that was read by a snapshot, or lacks a part of its
sequence, has none: it is a barrier. What stands before it in its partition is older, what stands after it is newer.
Between two barriers the sequence decides, and the offset where two sequences are equal. Sequences of two domains are
not comparable: the first event of another domain is a barrier too.

The order of a row is kept in its struct `_alluvium`: ORDER_FIELDS beside topic, partition and offset.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

# Types of the columns, as Spark names them. None of them is ever null but `domain`.
ORDER_FIELDS = {"domain": "string", "barrier": "bigint", "commit_position": "bigint", "row_position": "bigint"}
NONE = -1


class Comparison(StrEnum):
    """How an event stands to the row, or to another event, of its key."""

    NEWER = "newer"
    OLDER = "older"
    SAME = "same"
    # Neither a common sequence nor a common partition: nobody can say.
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Order:
    """The order of one event. Both positions are -1 where it has no sequence."""

    topic: str
    partition: int
    offset: int
    # What its sequence belongs to; None for an event without one.
    domain: str | None = None
    commit_position: int = NONE
    row_position: int = NONE
    # The offset of the newest barrier of the key at or before this event; -1 where none is known.
    barrier: int = NONE

    @property
    def is_barrier(self) -> bool:
        return self.domain is None

    @property
    def sequence(self) -> tuple[int, int, int]:
        return self.commit_position, self.row_position, self.offset


def placed(order: Order) -> Order:
    """Give an event without a sequence its own offset as barrier."""
    return replace(order, barrier=max(order.barrier, order.offset)) if order.is_barrier else order


def compare(event: Order, row: Order) -> Comparison:
    """Tell how an event stands to the row of its key."""
    if (event.topic, event.partition) != (row.topic, row.partition):
        return across_partitions(event, row)
    if event.offset == row.offset:
        return Comparison.SAME
    return Comparison.NEWER if is_newer(event, row) else Comparison.OLDER


def is_newer(event: Order, row: Order) -> bool:
    """True where an event of the same partition is newer than the row. `newer_sql` says the same in SQL."""
    if row.offset < event.barrier:
        return True
    if event.offset < row.barrier:
        return False
    if event.domain != row.domain:
        return event.offset > row.offset
    return event.sequence > row.sequence


def across_partitions(event: Order, row: Order) -> Comparison:
    """Compare events of two partitions or topics: only their sequences can tell."""
    if event.is_barrier or event.domain != row.domain:
        return Comparison.UNKNOWN
    mine, other = event.sequence[:2], row.sequence[:2]
    if mine == other:
        return Comparison.UNKNOWN
    return Comparison.NEWER if mine > other else Comparison.OLDER


def settled(event: Order, row: Order | None) -> Order:
    """Return the order that a row keeps after an event has replaced it."""
    event = placed(event)
    if row is None or (event.topic, event.partition) != (row.topic, row.partition):
        return event
    own = event.offset if begins_domain(event, row) else event.barrier
    return replace(event, barrier=max(own, event.barrier, row.barrier))


def begins_domain(event: Order, last: Order) -> bool:
    """True where sequences of another domain begin, which cannot be compared with those before."""
    return not last.is_barrier and not event.is_barrier and last.domain != event.domain


def with_barriers(events: Iterable[Order]) -> list[Order]:
    """Give each event of one key its barrier; they come from one partition and are returned by their offsets.

    With barriers, the greatest `rank` is the newest event: a total order.
    """
    known: list[Order] = []
    for event in sorted(events, key=lambda each: each.offset):
        last = known[-1] if known else None
        begins = event.is_barrier or (last is not None and begins_domain(event, last))
        barrier = event.offset if begins else max(event.barrier, last.barrier if last is not None else NONE)
        known.append(replace(event, barrier=barrier))
    return known


def rank(event: Order) -> tuple[int, int, int, int]:
    """Return the value by which events of one key and partition are sorted once they have their barriers."""
    return event.barrier, *event.sequence


def newest(events: Sequence[Order]) -> Order:
    """Return the newest event of one key in a batch."""
    return max(with_barriers(events), key=rank)


def newer_sql(event: str, row: str) -> str:
    """Render `is_newer` for two structs of lineage, of one topic and partition."""
    mine, other = (f"struct({side}.commit_position, {side}.row_position, {side}.offset)" for side in (event, row))
    return (
        f"({row}.offset < {event}.barrier OR ({event}.offset >= {row}.barrier AND "
        f"IF({event}.domain <=> {row}.domain, {mine} > {other}, {event}.offset > {row}.offset)))"
    )


def barrier_sql(event: str, row: str) -> str:
    """Render the barrier that `settled` leaves in a row of the same topic and partition."""
    # A comparison with null is no truth: an event without a domain begins none.
    begins = f"IF({event}.domain <> {row}.domain, {event}.offset, {event}.barrier)"
    return f"greatest({begins}, {event}.barrier, {row}.barrier)"
