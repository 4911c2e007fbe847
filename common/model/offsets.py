"""Which offsets, exactly. Pure: nothing here talks to a broker or to Spark."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from common.errors import StateError
from common.settings.remedies import new_epoch

Offsets = Mapping[int, int]


@dataclass(frozen=True)
class Available:
    """What a topic holds now: per partition the first offset it still has, and the end a committed reader may see."""

    earliest: Offsets
    ends: Offsets


@dataclass(frozen=True)
class Plan:
    """The offsets of one batch: from `start` to before `end`, the same partitions in both."""

    start: Offsets
    end: Offsets

    @property
    def records(self) -> int:
        """An upper bound: transaction markers and compaction leave gaps."""
        return sum(end - self.start[partition] for partition, end in self.end.items())


def plan(committed: Offsets, available: Available, max_records: int) -> Plan:
    """The next batch: as far as the limit allows, shared among the partitions by their lag."""
    start = starting_offsets(committed, available)
    lag = {partition: available.ends[partition] - first for partition, first in start.items()}
    share = fair_share(lag, max_records)
    return Plan(start, {partition: first + share[partition] for partition, first in start.items()})


def starting_offsets(committed: Offsets, available: Available) -> dict[int, int]:
    """Where to go on in every partition. An empty `committed` begins an epoch: at the first record there is."""
    refuse_vanished(committed, available)
    if not committed:
        return dict(available.earliest)
    start = {partition: committed.get(partition, 0) for partition in sorted(available.ends)}
    for partition, wanted in start.items():
        refuse_loss(partition, wanted, available.earliest[partition])
        refuse_overrun(partition, wanted, available.ends[partition])
    return start


def refuse_vanished(committed: Offsets, available: Available) -> None:
    gone = sorted(set(committed) - set(available.ends))
    if gone:
        raise StateError(
            f"the topic no longer has partition {gone[0]}, which the table has read",
            f"the topic was recreated: begin a new epoch with {new_epoch('beginning')}",
        )


def refuse_loss(partition: int, wanted: int, earliest: int) -> None:
    if wanted < earliest:
        raise StateError(
            f"partition {partition}: offset {wanted} is wanted, {earliest} is the earliest left, "
            f"{earliest - wanted} records are lost",
            f"accept the loss and go on with {new_epoch('table')}",
        )


def refuse_overrun(partition: int, wanted: int, end: int) -> None:
    if wanted > end:
        raise StateError(
            f"partition {partition}: offset {wanted} is wanted, but the log ends at {end}",
            f"the topic was recreated or truncated: begin a new epoch with {new_epoch('beginning')}",
        )


def fair_share(lag: Offsets, limit: int) -> dict[int, int]:
    """The limit shared in proportion to the lags, every record of it used."""
    total = sum(lag.values())
    if total <= limit:
        return dict(lag)
    share = {partition: behind * limit // total for partition, behind in lag.items()}
    left = limit - sum(share.values())
    for partition in sorted(lag, key=lambda each: (share[each] - lag[each], each)):
        more = min(left, lag[partition] - share[partition])
        share[partition] += more
        left -= more
    return share


def plans_around(planned: Plan, left_out: Iterable[tuple[int, int]]) -> list[Plan]:
    """Plans that together have all offsets of a plan but some, each given by its partition and its offset."""
    ranges = {partition: [(first, planned.end[partition])] for partition, first in planned.start.items()}
    for partition, offset in sorted(left_out):
        first, end = ranges[partition].pop()
        ranges[partition] += [(first, offset)] if first < offset else []
        ranges[partition].append((offset + 1, end))
    starts: list[dict[int, int]] = [dict(planned.end) for _ in range(max(map(len, ranges.values())))]
    ends = [dict(planned.end) for _ in starts]
    for partition, several in ranges.items():
        for number, (first, end) in enumerate(several):
            starts[number][partition], ends[number][partition] = first, end
    return [plan for plan in map(Plan, starts, ends) if plan.records]


def to_json(topic: str, offsets: Offsets) -> str:
    """The form that Spark's Kafka options and its checkpoint use."""
    return json.dumps({topic: {str(partition): offset for partition, offset in sorted(offsets.items())}})


def from_json(topic: str, text: str) -> dict[int, int]:
    return {int(partition): offset for partition, offset in json.loads(text)[topic].items()}
