"""Accounting before the commit: what was read, per partition, and its fate, counted from the rows themselves."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.divide.fate import FATE, FATES, FOLDED, MERGE
from common.errors import AlluviumError, StateError
from common.plan.broker import Topic
from common.plan.offsets import Plan
from common.read.kafka import RECORD
from common.settings.pipeline import POSITION, Pipeline


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


def check_gaps(rows: DataFrame, found: Mapping[int, PartitionTally], planned: Plan, topic: Topic) -> int:
    """Offsets that the plan names and no row has: each must be a gap of the log itself. Gives their number."""
    missing = 0
    for partition, end in sorted(planned.end.items()):
        start = planned.start[partition]
        absent = end - start - (found[partition].rows if partition in found else 0)
        if absent == 0:
            continue
        unread = topic.first_record_in(partition, gaps(rows, partition, start, end))
        if unread is not None:
            raise unbalanced(f"partition {partition}: offset {unread} is in the log and was not read")
        missing += absent
    return missing


def refuse_split_keys(rows: DataFrame, pipeline: Pipeline) -> None:
    """Offsets of two partitions do not order events: without a sequence column a key must live in one partition."""
    if pipeline.target.sequence != POSITION:
        return
    partition = F.col(f"{RECORD}.partition")
    competing = rows.where(F.col(FATE).isin(MERGE, FOLDED)).groupBy(*pipeline.target.keys)
    split = competing.agg(F.min(partition).alias("_least"), F.max(partition).alias("_greatest")).where(
        "_least < _greatest"
    )
    for row in split.limit(1).collect():
        key = ", ".join(f"{name}={row[name]}" for name in pipeline.target.keys)
        raise StateError(
            f"key {key} came from partitions {row['_least']} and {row['_greatest']}, whose order nobody knows",
            "key messages by the table's key, or declare a sequence column in the pipeline file",
        )


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
