"""Confirm that offsets without a record are gaps of the log itself."""

from collections.abc import Callable, Mapping

from common.errors import unbalanced
from common.kafka.topic import TopicClient
from common.model.offsets import Plan, TopicPartition
from common.rules.accounting import PartitionTally
from common.rules.gaps import Gaps, Ranges, missing

FindGaps = Callable[[Ranges], Gaps]


def check_gaps(
    find_gaps: FindGaps, tallies: Mapping[TopicPartition, PartitionTally], planned: Plan, topic: TopicClient
) -> int:
    """Count the gaps, and confirm with the broker that no record is in them. Without gaps the broker is not asked."""
    absent = missing(tallies, planned)
    if not absent:
        return 0
    gaps = find_gaps({where: (planned.start[where], planned.end[where]) for where in absent})
    for where, count in absent.items():
        lost = sum(after - first for first, after in gaps[where])
        if lost != count:
            raise unbalanced(f"{where}: {count} offsets were counted as missing, {lost} are")
    unread = topic.first_record_in(gaps)
    if unread is not None:
        where, offset = unread
        raise unbalanced(f"{where}: offset {offset} is in the log and was not read")
    return sum(absent.values())
