"""Plan one read for several targets. Each target has its own position, and those that are behind come first."""

from collections.abc import Sequence
from dataclasses import dataclass

from common.model.offsets import Offsets, Plan, TopicPartition, limited


@dataclass(frozen=True)
class SharedPlan:
    """The offsets of one read, and the numbers of the targets that it is for."""

    planned: Plan
    targets: Sequence[int]


def plan_shared(starts: Sequence[Offsets], ends: Offsets, max_records: int) -> SharedPlan:
    """Plan the next read: for the targets that are behind, until they are where the others are, and then for all."""
    furthest = greatest(starts)
    behind = [number for number, start in enumerate(starts) if is_behind(start, furthest)]
    if not behind:
        return SharedPlan(limited(furthest, ends, max_records), range(len(starts)))
    # Those that stand at the same place are brought up by the same reads.
    start = starts[behind[0]]
    together = [number for number in behind if starts[number] == start]
    return SharedPlan(limited(start, furthest, max_records), together)


def greatest(starts: Sequence[Offsets]) -> Offsets:
    """Return the furthest offset of each partition, whichever target has it."""
    furthest: dict[TopicPartition, int] = {}
    for start in starts:
        furthest.update({each: max(offset, furthest.get(each, 0)) for each, offset in start.items()})
    return dict(sorted(furthest.items()))


def is_behind(start: Offsets, furthest: Offsets) -> bool:
    return any(offset < furthest[each] for each, offset in start.items())
