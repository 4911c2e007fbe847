"""Find planned offsets that no row has: each must be a gap of the log itself.

Transactions and compaction leave gaps. The client that has read the rows cannot confirm them, so another one is asked:
docs/adr/0012-few-records-are-fetched.md.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.model.offsets import Plan
from common.model.record import record_field
from common.rules.accounting import PartitionTally

# The planned offsets of a partition, as (first, after).
Ranges = Mapping[int, tuple[int, int]]
# Missing offsets as (first, after), in their order, by partition.
Gaps = Mapping[int, Sequence[tuple[int, int]]]


def missing(tallies: Mapping[int, PartitionTally], planned: Plan) -> dict[int, int]:
    """How many planned offsets of a partition have no row; only partitions that lack any."""
    counts = {
        partition: end - planned.start[partition] - (tallies[partition].rows if partition in tallies else 0)
        for partition, end in sorted(planned.end.items())
    }
    return {partition: count for partition, count in counts.items() if count}


def find_gaps(rows: pa.Table, ranges: Ranges) -> Gaps:
    """The offsets of these ranges that no row has."""
    return {partition: gaps_between(offsets_of(rows, partition), *ends) for partition, ends in ranges.items()}


def offsets_of(rows: pa.Table, partition: int) -> np.ndarray:
    offsets = record_field(rows, "offset").filter(pc.equal(record_field(rows, "partition"), partition))
    return np.sort(offsets.to_numpy())


def gaps_between(offsets: np.ndarray, first: int, after: int) -> list[tuple[int, int]]:
    edges = np.concatenate(([first - 1], offsets, [after]))
    before_gap = np.flatnonzero(np.diff(edges) > 1)
    return [(int(edges[index]) + 1, int(edges[index + 1])) for index in before_gap]
