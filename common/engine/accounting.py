"""Accounting before the commit: what was read, per partition, and its fate, counted from the rows themselves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.errors import AlluviumError
from common.model.offsets import Offsets, Plan
from common.settings.pipeline import Pipeline
from common.spark.queries import Answer
from common.spark.source import RECORD
from common.spark.validate.disposition import FATE, FATES, FOLDED, LATE, MERGE, NULL, QUARANTINED, is_late
from common.spark.validate.rejection import REASON


class AccountingError(AlluviumError):
    """Rows and offsets do not add up: the batch is not committed."""


@dataclass(frozen=True)
class PartitionTally:
    """One partition's rows."""

    rows: int
    offsets: int
    first: int
    last: int
    misrouted: int
    fates: Mapping[str, int]


def check_plan(planned: Plan, committed: Offsets) -> None:
    """It begins where the table ends, in each partition: what it leaves out would never be read, or be read twice."""
    forgotten = set(committed) - set(planned.end)
    if forgotten:
        raise unbalanced(f"partition {min(forgotten)} is not in the plan")
    for partition, first in sorted(planned.start.items()):
        if committed and first != committed.get(partition, 0):
            where = f"partition {partition}: the plan begins at {first}"
            raise unbalanced(f"{where}, the table ends at {committed.get(partition, 0)}")


def count_fates(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Of rows that are materialised already; as many rows as the topic has partitions."""
    return rows.groupBy(F.col(f"{RECORD}.partition").alias("partition")).agg(*counts(pipeline))


@cache
def counts(pipeline: Pipeline) -> tuple[Column, ...]:
    offset = F.col(f"{RECORD}.offset")
    return (
        F.count("*").alias("rows"),
        F.count_distinct(offset).alias("offsets"),
        F.min(offset).alias("first"),
        F.max(offset).alias("last"),
        F.count_if(is_misrouted(pipeline)).alias("misrouted"),
        *(F.count_if(F.col(FATE) == fate).alias(fate) for fate in FATES),
    )


def tally(counted: Iterable[Answer]) -> dict[int, PartitionTally]:
    return {
        row["partition"]: PartitionTally(
            rows=row["rows"],
            offsets=row["offsets"],
            first=row["first"],
            last=row["last"],
            misrouted=row["misrouted"],
            fates={fate: row[fate] for fate in FATES},
        )
        for row in counted
    }


def is_misrouted(pipeline: Pipeline) -> Column:
    """Turned away without a reason, let pass in spite of one or without a key, late or in time against its own time."""
    has_reason, fate = F.col(REASON).isNotNull(), F.col(FATE)
    no_key = reduce(or_, (F.col(key).isNull() for key in pipeline.target.keys))
    return (
        (has_reason != fate.isin(QUARANTINED, NULL))
        | (~has_reason & ((fate == LATE) != is_late(pipeline)))
        | (no_key & fate.isin(MERGE, FOLDED))
    )


def check_tally(found: Mapping[int, PartitionTally], planned: Plan) -> None:
    """Every row has one fate and the right one, no offset stands twice, none lies outside of the plan."""
    for partition, each in sorted(found.items()):
        where = f"partition {partition}"
        if partition not in planned.end or each.first < planned.start[partition] or each.last >= planned.end[partition]:
            raise unbalanced(f"{where}: offsets {each.first} to {each.last} are not in the plan")
        if each.offsets != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows have {each.offsets} offsets")
        if sum(each.fates.values()) != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows were read, {sum(each.fates.values())} have a fate")
        if each.misrouted:
            raise unbalanced(f"{where}: {each.misrouted} rows have a fate that is not theirs")


def unbalanced(what: str) -> AccountingError:
    return AccountingError(
        f"the accounts of this batch do not balance: {what}",
        "nothing was committed; run it again, and report it if it repeats",
    )


def totals(found: Mapping[int, PartitionTally]) -> dict[str, int]:
    return {fate: sum(each.fates[fate] for each in found.values()) for fate in FATES}
