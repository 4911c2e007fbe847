"""Account for every offset of a plan before anything is committed, from the rows themselves."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from common.errors import unbalanced
from common.model.disposition import DISPOSITION, DISPOSITIONS, FOLDED, MERGE
from common.model.offsets import Offsets, Plan, TopicPartition
from common.model.record import partition_numbers, record_field
from common.rules.compare import ROWS, Aggregates, aggregate

# True for a row whose disposition is not its own. The column goes with rows that the driver accounts for.
WRONG_DISPOSITION = "_wrong_disposition"


@dataclass(frozen=True)
class PartitionTally:
    """The rows of one partition of a topic, counted."""

    rows: int
    offsets: int
    first: int
    last: int
    wrong: int
    dispositions: Mapping[str, int]


def tally(rows: pa.Table) -> dict[TopicPartition, PartitionTally]:
    """Count the rows of each partition by their dispositions."""
    numbers, partitions = partition_numbers(rows)
    columns = {
        "number": numbers,
        "offset": record_field(rows, "offset"),
        "wrong": pc.fill_null(rows[WRONG_DISPOSITION], fill_value=False),
        **{each: pc.is_in(rows[DISPOSITION], pa.array([each])) for each in DISPOSITIONS},
    }
    counts: Aggregates = {
        "rows": ROWS,
        "offsets": ("offset", "count_distinct"),
        "first": ("offset", "min"),
        "last": ("offset", "max"),
        **{name: (name, "sum") for name in ("wrong", *DISPOSITIONS)},
    }
    counted = aggregate(columns, ["number"], counts).to_pylist()
    return tally_from({**row, **partitions[row["number"]]._asdict()} for row in counted)


def tally_from(counted: Iterable[Mapping[str, Any]]) -> dict[TopicPartition, PartitionTally]:
    """Read counts that are one row for each partition, whoever has counted them."""
    return {
        TopicPartition(row["topic"], row["partition"]): PartitionTally(
            rows=row["rows"],
            offsets=row["offsets"],
            first=row["first"],
            last=row["last"],
            wrong=row["wrong"],
            dispositions={each: row[each] for each in DISPOSITIONS},
        )
        for row in counted
    }


def with_wrong_dedup(classified: pa.Table, deduplicated: pa.Table) -> pa.Table:
    """Flag rows whose disposition changed in deduplication other than from MERGE to FOLDED."""
    before, after = classified[DISPOSITION], deduplicated[DISPOSITION]
    is_same = pc.fill_null(pc.equal(before, after), pc.and_(pc.is_null(before), pc.is_null(after)))
    is_folded = pc.and_(pc.is_in(before, pa.array([MERGE])), pc.is_in(after, pa.array([FOLDED])))
    wrong = pc.or_kleene(deduplicated[WRONG_DISPOSITION], pc.invert(pc.or_(is_same, is_folded)))
    return deduplicated.set_column(deduplicated.schema.get_field_index(WRONG_DISPOSITION), WRONG_DISPOSITION, wrong)


def totals(tallies: Mapping[TopicPartition, PartitionTally]) -> dict[str, int]:
    """Sum the dispositions of the whole batch."""
    return {each: sum(tally.dispositions[each] for tally in tallies.values()) for each in DISPOSITIONS}


def check_plan(planned: Plan, committed: Offsets) -> None:
    """Check that a plan begins where the table ends, in each partition.

    Otherwise records would never be read, or be read twice. A topic that is new to the table may begin anywhere.
    """
    forgotten = set(committed) - set(planned.end)
    if forgotten:
        raise unbalanced(f"{min(forgotten)} is not in the plan")
    known = {each.topic for each in committed}
    for where, first in sorted(planned.start.items()):
        if where.topic in known and first != committed.get(where, 0):
            raise unbalanced(f"{where}: the plan begins at {first}, the table ends at {committed.get(where, 0)}")


def check_tally(tallies: Mapping[TopicPartition, PartitionTally], planned: Plan) -> None:
    """Check that every row has one disposition and the right one, and that each offset is planned and stands once."""
    for where, each in sorted(tallies.items()):
        if where not in planned.end or each.first < planned.start[where] or each.last >= planned.end[where]:
            raise unbalanced(f"{where}: offsets {each.first} to {each.last} are not in the plan")
        if each.offsets != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows have {each.offsets} offsets")
        if sum(each.dispositions.values()) != each.rows:
            raise unbalanced(f"{where}: {each.rows} rows were read, {sum(each.dispositions.values())} have a fate")
        if each.wrong:
            raise unbalanced(f"{where}: {each.wrong} rows have a fate that is not theirs")
