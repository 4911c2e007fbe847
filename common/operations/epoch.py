"""Propose new epochs: where to go on when the table's log cannot, or should not, decide it. Nothing is written."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from common.delta.ledger import Ledger
from common.errors import UsageError
from common.model.offsets import Available, Offsets
from common.model.position import Position, first_position
from common.settings.remedies import new_epoch


@dataclass(frozen=True)
class Proposal:
    """A new epoch as it would begin, and what that means for each partition."""

    position: Position
    before: Offsets

    def lines(self) -> list[str]:
        """Write one line for each partition: from where to where, and what is read again or never read."""
        return [self._line(partition, offset) for partition, offset in sorted(self.position.offsets.items())]

    def _line(self, partition: int, offset: int) -> str:
        if partition not in self.before:
            return f"partition {partition}: begin at {offset}"
        moved = offset - self.before[partition]
        meaning = {-1: f"{-moved} read again", 0: "as it stands", 1: f"{moved} never read"}[(moved > 0) - (moved < 0)]
        return f"partition {partition}: {self.before[partition]} to {offset}, {meaning}"


def within(wanted: Offsets, available: Available) -> dict[int, int]:
    """Move the wanted offsets to the nearest that the topic has. A partition that is not named begins at its first."""
    return {
        partition: min(max(wanted.get(partition, 0), available.earliest[partition]), end)
        for partition, end in sorted(available.ends.items())
    }


def propose_epoch(
    ledger: Ledger, topic: str, topic_id: str, *, offsets: Mapping[int, int], before: Offsets, side_epoch: int = 0
) -> Proposal:
    """Propose a new epoch at these offsets. `side_epoch` is the greatest epoch in the side tables."""
    first = first_position(ledger.pipeline, max(ledger.greatest_epoch(), side_epoch) + 1, topic)
    return Proposal(replace(first, topic_id=topic_id, offsets=offsets), before)


def offsets_of_rows(ledger: Ledger, topic_id: str, available: Available) -> tuple[dict[int, int], Offsets]:
    """Return the offsets at which the table's own rows end: those that the topic has, and the table's."""
    position = ledger.position_of_rows()
    if position is None or position.topic_id not in {None, topic_id}:
        why = (
            "the table's rows belong to no position" if position is None else "the table's position is in another topic"
        )
        raise UsageError(why, f"say where to begin: {new_epoch('beginning')} or {new_epoch('end')}")
    return within(position.offsets, available), position.offsets
