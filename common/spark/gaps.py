"""Find missing offsets of a batch that Spark holds: the query behind rules/gaps.py."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.model.record import RECORD
from common.rules.gaps import Gaps, Ranges


def find_gaps(rows: DataFrame, ranges: Ranges) -> Gaps:
    """Find the missing offsets of all these partitions by one query."""
    edges = [(partition, edge) for partition, (first, after) in ranges.items() for edge in (first - 1, after)]
    bounds = rows.sparkSession.createDataFrame(edges, "partition int, offset bigint")
    read = rows.select(f"{RECORD}.partition", f"{RECORD}.offset").where(F.col("partition").isin(*ranges))
    following = "lead(offset) OVER (PARTITION BY partition ORDER BY offset) AS following"
    holes = read.union(bounds).selectExpr("partition", "offset", following).where("following > offset + 1").collect()
    gaps: dict[int, list[tuple[int, int]]] = {partition: [] for partition in ranges}
    for hole in sorted(holes):
        gaps[hole["partition"]].append((hole["offset"] + 1, hole["following"]))
    return gaps
