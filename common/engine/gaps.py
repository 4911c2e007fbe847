"""Offsets that a plan names and that no row has: each must be a gap of the log itself.

Transactions and compaction leave gaps. Who has read the rows cannot confirm them, so another client is asked:
docs/adr/0012-few-records-are-fetched.md.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.engine.accounting import PartitionTally, unbalanced
from common.kafka.topic import Gaps, TopicClient
from common.model.offsets import Plan
from common.spark.source import RECORD, field_of

# The planned offsets of a partition, as (first, after).
Ranges = Mapping[int, tuple[int, int]]
FindGaps = Callable[[Ranges], Gaps]


def check_gaps(find_gaps: FindGaps, found: Mapping[int, PartitionTally], planned: Plan, topic: TopicClient) -> int:
    """The number of gaps, once it is certain that they are none but those of the log. Without any, nobody is asked."""
    absent = missing(found, planned)
    if not absent:
        return 0
    gaps = find_gaps({partition: (planned.start[partition], planned.end[partition]) for partition in absent})
    for partition, count in absent.items():
        gone = sum(after - first for first, after in gaps[partition])
        if gone != count:
            raise unbalanced(f"partition {partition}: {count} offsets were counted as missing, {gone} are")
    unread = topic.first_record_in(gaps)
    if unread is not None:
        partition, offset = unread
        raise unbalanced(f"partition {partition}: offset {offset} is in the log and was not read")
    return sum(absent.values())


def missing(found: Mapping[int, PartitionTally], planned: Plan) -> dict[int, int]:
    """How many planned offsets of a partition have no row; only partitions that lack any."""
    counts = {
        partition: end - planned.start[partition] - (found[partition].rows if partition in found else 0)
        for partition, end in sorted(planned.end.items())
    }
    return {partition: count for partition, count in counts.items() if count}


def gaps_in_spark(rows: DataFrame, ranges: Ranges) -> Gaps:
    """The missing ranges of all these partitions, by one query."""
    edges = [(partition, edge) for partition, (first, after) in ranges.items() for edge in (first - 1, after)]
    bounds = rows.sparkSession.createDataFrame(edges, "partition int, offset bigint")
    read = rows.select(f"{RECORD}.partition", f"{RECORD}.offset").where(F.col("partition").isin(*ranges))
    following = "lead(offset) OVER (PARTITION BY partition ORDER BY offset) AS following"
    holes = read.union(bounds).selectExpr("partition", "offset", following).where("following > offset + 1").collect()
    found: dict[int, list[tuple[int, int]]] = {partition: [] for partition in ranges}
    for hole in sorted(holes):
        found[hole["partition"]].append((hole["offset"] + 1, hole["following"]))
    return found


def gaps_arrow(rows: pa.Table, ranges: Ranges) -> Gaps:
    """The same for rows that this process holds, without a query."""
    return {partition: gaps_of(offsets_of(rows, partition), *ends) for partition, ends in ranges.items()}


def offsets_of(rows: pa.Table, partition: int) -> np.ndarray:
    return np.sort(field_of(rows, "offset").filter(pc.equal(field_of(rows, "partition"), partition)).to_numpy())


def gaps_of(offsets: np.ndarray, first: int, after: int) -> list[tuple[int, int]]:
    edges = np.concatenate(([first - 1], offsets, [after]))
    before_gap = np.flatnonzero(np.diff(edges) > 1)
    return [(int(edges[index]) + 1, int(edges[index + 1])) for index in before_gap]
