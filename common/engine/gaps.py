"""Confirm that offsets without a record are gaps of the log itself."""

from collections.abc import Callable, Mapping

from common.errors import unbalanced
from common.kafka.topic import TopicClient
from common.model.offsets import Plan
from common.rules.accounting import PartitionTally
from common.rules.gaps import Gaps, Ranges, missing

FindGaps = Callable[[Ranges], Gaps]


def check_gaps(find_gaps: FindGaps, tallies: Mapping[int, PartitionTally], planned: Plan, topic: TopicClient) -> int:
    """The number of gaps, once it is certain that they are none but those of the log. Without any, nobody is asked."""
    absent = missing(tallies, planned)
    if not absent:
        return 0
    gaps = find_gaps({partition: (planned.start[partition], planned.end[partition]) for partition in absent})
    for partition, count in absent.items():
        lost = sum(after - first for first, after in gaps[partition])
        if lost != count:
            raise unbalanced(f"partition {partition}: {count} offsets were counted as missing, {lost} are")
    unread = topic.first_record_in(gaps)
    if unread is not None:
        partition, offset = unread
        raise unbalanced(f"partition {partition}: offset {offset} is in the log and was not read")
    return sum(absent.values())
