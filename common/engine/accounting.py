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
from common.spark.queries import JsonRow
from common.spark.source import RECORD
from common.spark.validate.disposition import DISPOSITION, DISPOSITIONS, FOLDED, LATE, MERGE, NULL, QUARANTINED, is_late
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
    dispositions: Mapping[str, int]


def check_plan(planned: Plan, committed: Offsets) -> None:
    """It begins where the table ends, in each partition: what it leaves out would never be read, or be read twice."""
    forgotten = set(committed) - set(planned.end)
    if forgotten:
        raise unbalanced(f"partition {min(forgotten)} is not in the plan")
    for partition, first in sorted(planned.start.items()):
        if committed and first != committed.get(partition, 0):
            where = f"partition {partition}: the plan begins at {first}"
            raise unbalanced(f"{where}, the table ends at {committed.get(partition, 0)}")


def count_dispositions(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
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
        F.count_if(wrong_disposition(pipeline)).alias("misrouted"),
        *(F.count_if(F.col(DISPOSITION) == disposition).alias(disposition) for disposition in DISPOSITIONS),
    )


def tally(counted: Iterable[JsonRow]) -> dict[int, PartitionTally]:
    return {
        row["partition"]: PartitionTally(
            rows=row["rows"],
            offsets=row["offsets"],
            first=row["first"],
            last=row["last"],
            misrouted=row["misrouted"],
            dispositions={disposition: row[disposition] for disposition in DISPOSITIONS},
        )
        for row in counted
    }


def wrong_disposition(pipeline: Pipeline) -> Column:
    """Turned away without a reason, let pass in spite of one or without a key, late or in time against its own time."""
    has_reason, disposition = F.col(REASON).isNotNull(), F.col(DISPOSITION)
    no_key = reduce(or_, (F.col(key).isNull() for key in pipeline.target.keys))
    return (
        (has_reason != disposition.isin(QUARANTINED, NULL))
        | (~has_reason & ((disposition == LATE) != is_late(pipeline)))
        | (no_key & disposition.isin(MERGE, FOLDED))
    )


def check_tally(found: Mapping[int, PartitionTally], planned: Plan) -> None:
    """Every row has one fate and the right one, no offset stands twice, none lies outside of the plan."""
    for partition, each in sorted(found.items()):
        where = f"partition {partition}"
        if partition not in planned.end or each.first < planned.start[partition] or each.last >= planned.end[partition]:
            raise unbalanced(f"{where}: offsets {each.first} to {each.last} are not in the plan")
        if each.offsets != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows have {each.offsets} offsets")
        if sum(each.dispositions.values()) != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows were read, {sum(each.dispositions.values())} have a fate")
        if each.misrouted:
            raise unbalanced(f"{where}: {each.misrouted} rows have a fate that is not theirs")


def unbalanced(what: str) -> AccountingError:
    return AccountingError(
        f"the accounts of this batch do not balance: {what}",
        "nothing was committed; run it again, and report it if it repeats",
    )


def totals(found: Mapping[int, PartitionTally]) -> dict[str, int]:
    return {disposition: sum(each.dispositions[disposition] for each in found.values()) for disposition in DISPOSITIONS}
