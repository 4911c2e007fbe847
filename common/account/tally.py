"""Accounting before the commit: what was read, per partition, and its fate, counted from the rows themselves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.divide.fate import FATE, FATES
from common.errors import AlluviumError
from common.plan.offsets import Plan
from common.read.kafka import RECORD


class AccountingError(AlluviumError):
    """Rows and offsets do not add up: the batch is not committed."""


@dataclass(frozen=True)
class PartitionTally:
    """One partition's rows."""

    rows: int
    offsets: int
    first: int
    last: int
    fates: Mapping[str, int]


# partition, first missing offset, the offset after the last missing one → whether the log holds nothing there
GapIsEmpty = Callable[[int, int, int], bool]


def tally(rows: DataFrame) -> dict[int, PartitionTally]:
    """One job over rows that are materialised already; as many rows as the topic has partitions."""
    offset = F.col(f"{RECORD}.offset")
    counted = rows.groupBy(F.col(f"{RECORD}.partition").alias("partition")).agg(
        F.count("*").alias("rows"),
        F.count_distinct(offset).alias("offsets"),
        F.min(offset).alias("first"),
        F.max(offset).alias("last"),
        *(F.count_if(F.col(FATE) == fate).alias(fate) for fate in FATES),
    )
    return {
        row["partition"]: PartitionTally(
            row["rows"], row["offsets"], row["first"], row["last"], {fate: row[fate] for fate in FATES}
        )
        for row in counted.collect()
    }


def check_tally(found: Mapping[int, PartitionTally], planned: Plan) -> None:
    """Every row has one fate, no offset stands twice, none lies outside of the plan."""
    for partition, each in sorted(found.items()):
        where = f"partition {partition}"
        if partition not in planned.end or each.first < planned.start[partition] or each.last >= planned.end[partition]:
            raise unbalanced(f"{where}: offsets {each.first} to {each.last} are not in the plan")
        if each.offsets != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows have {each.offsets} offsets")
        if sum(each.fates.values()) != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows were read, {sum(each.fates.values())} have a fate")


def check_gaps(rows: DataFrame, found: Mapping[int, PartitionTally], planned: Plan, is_empty: GapIsEmpty) -> int:
    """Offsets that the plan names and no row has: each must be a gap of the log itself. Gives their number."""
    missing = 0
    for partition, end in sorted(planned.end.items()):
        wanted = end - planned.start[partition]
        absent = wanted - (found[partition].rows if partition in found else 0)
        if absent == 0:
            continue
        for first, after in gaps(rows, partition, planned.start[partition], end):
            if not is_empty(partition, first, after):
                raise unbalanced(
                    f"partition {partition}: offsets {first} to {after - 1} are in the log and were not read"
                )
        missing += absent
    return missing


def gaps(rows: DataFrame, partition: int, start: int, end: int) -> list[tuple[int, int]]:
    """The missing ranges of one partition, as (first, after)."""
    offset = F.col(f"{RECORD}.offset")
    read = rows.where(F.col(f"{RECORD}.partition") == partition).select(offset.alias("offset"))
    bounds = rows.sparkSession.createDataFrame([(start - 1,), (end,)], "offset bigint")
    following = read.union(bounds).selectExpr("offset", "lead(offset) OVER (ORDER BY offset) AS following")
    holes = following.where("following > offset + 1").orderBy("offset").collect()
    return [(hole["offset"] + 1, hole["following"]) for hole in holes]


def unbalanced(what: str) -> AccountingError:
    return AccountingError(
        f"the accounts of this batch do not balance: {what}",
        "nothing was committed; run it again, and report it if it repeats",
    )


def totals(found: Mapping[int, PartitionTally]) -> dict[str, int]:
    return {fate: sum(each.fates[fate] for each in found.values()) for fate in FATES}
