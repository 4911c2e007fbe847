"""Find planned offsets that no row has: each must be a gap of the log itself.

Transactions and compaction leave gaps. The client that has read the rows cannot confirm them, so another one is asked:
docs/adr/0012-few-records-are-fetched.md.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.model.offsets import Plan, TopicPartition
from common.model.record import partition_numbers, record_field
from common.rules.accounting import PartitionTally

# The planned offsets of a partition, as (first, after).
Ranges = Mapping[TopicPartition, tuple[int, int]]
# Missing offsets as (first, after), in their order, by partition.
Gaps = Mapping[TopicPartition, Sequence[tuple[int, int]]]

NO_OFFSETS = np.empty(0, dtype=np.int64)


def missing(tallies: Mapping[TopicPartition, PartitionTally], planned: Plan) -> dict[TopicPartition, int]:
    """Count the planned offsets without a row, for each partition that has such offsets."""
    counts = {
        where: end - planned.start[where] - (tallies[where].rows if where in tallies else 0)
        for where, end in sorted(planned.end.items())
    }
    return {where: count for where, count in counts.items() if count}


def find_gaps(rows: pa.Table, ranges: Ranges) -> Gaps:
    """Find the offsets of these ranges that no row has."""
    numbers, partitions = partition_numbers(rows)
    offsets = record_field(rows, "offset")
    read = {
        where: np.sort(offsets.filter(pc.equal(numbers, number)).to_numpy())
        for number, where in enumerate(partitions)
        if where in ranges
    }
    return {where: gaps_between(read.get(where, NO_OFFSETS), *ends) for where, ends in ranges.items()}


def gaps_between(offsets: np.ndarray, first: int, after: int) -> list[tuple[int, int]]:
    edges = np.concatenate(([first - 1], offsets, [after]))
    before_gap = np.flatnonzero(np.diff(edges) > 1)
    return [(int(edges[index]) + 1, int(edges[index + 1])) for index in before_gap]
