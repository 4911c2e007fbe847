"""Find missing offsets of a batch that Spark holds: the query behind rules/gaps.py."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.model.offsets import TopicPartition
from common.model.record import RECORD
from common.rules.gaps import Gaps, Ranges


def find_gaps(rows: DataFrame, ranges: Ranges) -> Gaps:
    """Find the missing offsets of all these partitions by one query."""
    edges = [(*where, edge) for where, (first, after) in ranges.items() for edge in (first - 1, after)]
    bounds = rows.sparkSession.createDataFrame(edges, "topic string, partition int, offset bigint")
    places = rows.select(*(f"{RECORD}.{name}" for name in bounds.columns))
    read = places.join(F.broadcast(bounds.select("topic", "partition").distinct()), ["topic", "partition"], "left_semi")
    following = "lead(offset) OVER (PARTITION BY topic, partition ORDER BY offset) AS following"
    holes = read.union(bounds).selectExpr("*", following).where("following > offset + 1").collect()
    gaps: dict[TopicPartition, list[tuple[int, int]]] = {where: [] for where in ranges}
    for hole in sorted(holes):
        gaps[TopicPartition(hole["topic"], hole["partition"])].append((hole["offset"] + 1, hole["following"]))
    return gaps
