"""Offsets: those that topics have, and those of the next read. Nothing here talks to a broker or to Spark."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from common.errors import StateError
from common.settings.remedies import new_epoch


class TopicPartition(NamedTuple):
    """One partition of a topic: the log that an offset belongs to."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"partition {self.partition} of '{self.topic}'"

    def among(self, topics: Collection[str]) -> str:
        """Name the partition to a reader who knows the topics: where there is one, its number is enough."""
        return f"partition {self.partition}" if len(topics) == 1 else str(self)


Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class Available:
    """The offsets that topics have now: of each partition the first, and the end for a reader of committed records."""

    earliest: Offsets
    ends: Offsets

    def of(self, topics: Collection[str]) -> "Available":
        """Return the offsets that these topics have."""
        return Available(of_topics(self.earliest, topics), of_topics(self.ends, topics))


@dataclass(frozen=True)
class Plan:
    """The offsets of one read: from `start` to before `end`, the same partitions in both."""

    start: Offsets
    end: Offsets

    def of(self, topics: Collection[str]) -> "Plan":
        """Return the part of the plan that is of these topics."""
        return Plan(of_topics(self.start, topics), of_topics(self.end, topics))

    @property
    def records(self) -> int:
        """The number of planned offsets. There may be fewer records: transaction markers and compaction leave gaps."""
        return sum(end - self.start[partition] for partition, end in self.end.items())


def of_topics(offsets: Offsets, topics: Collection[str]) -> dict[TopicPartition, int]:
    """Return the offsets of these topics."""
    return {each: offset for each, offset in offsets.items() if each.topic in topics}


def plan(committed: Offsets, available: Available, max_records: int) -> Plan:
    """Plan the next batch of one target."""
    return limited(starting_offsets(committed, available), available.ends, max_records)


def limited(start: Offsets, ends: Offsets, max_records: int) -> Plan:
    """Plan from `start` towards `ends` up to the limit, which is shared among the partitions by their lag."""
    share = fair_share({each: ends[each] - first for each, first in start.items()}, max_records)
    return Plan(start, {each: first + share[each] for each, first in start.items()})


def starting_offsets(committed: Offsets, available: Available) -> dict[TopicPartition, int]:
    """Return the next offset of each partition. A topic without committed offsets begins at its first record."""
    refuse_vanished(committed, available)
    known = {each.topic for each in committed}
    start = {
        each: committed.get(each, 0) if each.topic in known else available.earliest[each]
        for each in sorted(available.ends)
    }
    for each, wanted in start.items():
        refuse_loss(each, wanted, available.earliest[each])
        refuse_overrun(each, wanted, available.ends[each])
    return start


def refuse_vanished(committed: Offsets, available: Available) -> None:
    gone = sorted(set(committed) - set(available.ends))
    if gone:
        raise StateError(
            f"topic '{gone[0].topic}' no longer has partition {gone[0].partition}, which the table has read",
            f"the topic was recreated: begin a new epoch with {new_epoch('beginning')}",
        )


def refuse_loss(where: TopicPartition, wanted: int, earliest: int) -> None:
    if wanted < earliest:
        raise StateError(
            f"{where}: offset {wanted} is wanted, {earliest} is the earliest left, "
            f"{earliest - wanted} records are lost",
            f"accept the loss and go on with {new_epoch('table')}",
        )


def refuse_overrun(where: TopicPartition, wanted: int, end: int) -> None:
    if wanted > end:
        raise StateError(
            f"{where}: offset {wanted} is wanted, but the log ends at {end}",
            f"the topic was recreated or truncated: begin a new epoch with {new_epoch('beginning')}",
        )


def fair_share(lag: Offsets, limit: int) -> dict[TopicPartition, int]:
    """Share the limit in proportion to the lags, so that every record of it is used."""
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


def plans_around(planned: Plan, left_out: Iterable[tuple[TopicPartition, int]]) -> list[Plan]:
    """Make plans that together have all offsets of a plan, except those that are left out."""
    ranges = {partition: [(first, planned.end[partition])] for partition, first in planned.start.items()}
    for partition, offset in sorted(left_out):
        first, end = ranges[partition].pop()
        ranges[partition] += [(first, offset)] if first < offset else []
        ranges[partition].append((offset + 1, end))
    starts: list[dict[TopicPartition, int]] = [dict(planned.end) for _ in range(max(map(len, ranges.values())))]
    ends = [dict(planned.end) for _ in starts]
    for partition, several in ranges.items():
        for number, (first, end) in enumerate(several):
            starts[number][partition], ends[number][partition] = first, end
    return [plan for plan in map(Plan, starts, ends) if plan.records]


def by_topic(offsets: Offsets) -> dict[str, dict[int, int]]:
    """Group the offsets by topic, then by partition, in their order."""
    nested: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        nested.setdefault(topic, {})[partition] = offset
    return nested


def from_topics(nested: Mapping[str, Mapping[str, int]]) -> dict[TopicPartition, int]:
    """Read offsets that `by_topic` has grouped, from JSON, where each key is a text."""
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, offsets in nested.items()
        for partition, offset in offsets.items()
    }


def to_json(offsets: Offsets) -> str:
    """Write offsets in the form of Spark's Kafka options and of its checkpoint."""
    return json.dumps(by_topic(offsets))


def from_json(text: str) -> dict[TopicPartition, int]:
    return from_topics(json.loads(text))
