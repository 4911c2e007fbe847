"""Propose new epochs: where to go on when the table's log cannot, or should not, decide it. Nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from common.delta.ledger import Ledger
from common.errors import UsageError
from common.model.offsets import Available, Offsets, TopicPartition
from common.model.position import Position, first_position
from common.settings.remedies import new_epoch


@dataclass(frozen=True)
class Proposal:
    """A new epoch as it would begin, and what that means for each partition."""

    position: Position
    before: Offsets

    def lines(self) -> list[str]:
        """Write one line for each partition: from where to where, and what is read again or never read."""
        return [self._line(where, offset) for where, offset in sorted(self.position.offsets.items())]

    def _line(self, where: TopicPartition, offset: int) -> str:
        name = where.among(self.position.topic_ids)
        if where not in self.before:
            return f"{name}: begin at {offset}"
        moved = offset - self.before[where]
        meaning = {-1: f"{-moved} read again", 0: "as it stands", 1: f"{moved} never read"}[(moved > 0) - (moved < 0)]
        return f"{name}: {self.before[where]} to {offset}, {meaning}"


def within(wanted: Offsets, available: Available) -> dict[TopicPartition, int]:
    """Move the wanted offsets to the nearest that there are. A partition that is not named begins at its first."""
    return {
        where: min(max(wanted.get(where, 0), available.earliest[where]), end)
        for where, end in sorted(available.ends.items())
    }


def propose_epoch(
    ledger: Ledger, topic_ids: Mapping[str, str], *, offsets: Offsets, before: Offsets, side_epoch: int = 0
) -> Proposal:
    """Propose a new epoch at these offsets. `side_epoch` is the greatest epoch in the side tables."""
    first = first_position(ledger.pipeline, max(ledger.greatest_epoch(), side_epoch) + 1, topic_ids)
    return Proposal(replace(first, topic_ids=topic_ids, offsets=offsets), before)


def offsets_of_rows(
    ledger: Ledger, topic_ids: Mapping[str, str], available: Available
) -> tuple[dict[TopicPartition, int], Offsets]:
    """Return the offsets at which the table's own rows end: those that the topics have, and the table's."""
    position = ledger.position_of_rows()
    if position is None or not is_of(position, topic_ids):
        why = (
            "the table's rows belong to no position" if position is None else "the table's position is in another topic"
        )
        raise UsageError(why, f"say where to begin: {new_epoch('beginning')} or {new_epoch('end')}")
    return within(position.offsets, available), position.offsets


def is_of(position: Position, topic_ids: Mapping[str, str]) -> bool:
    """True where the position is in these topics, or in none yet."""
    return all(read_id in {None, topic_ids.get(name)} for name, read_id in position.topic_ids.items())
