"""The accounts of rows that this process holds itself: the same questions, without a query."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.engine.accounting import PartitionTally, tally
from common.rules.compare import Aggregates, aggregate, sortable
from common.settings.pipeline import POSITION, Pipeline
from common.spark.queries import JsonRow
from common.spark.source import field_of
from common.spark.validate.disposition import DISPOSITION, DISPOSITIONS, FOLDED, MERGE

# Whether a row's fate is not its own, as `is_misrouted` says: a column that goes with rows to be held.
WRONG_DISPOSITION = "_misrouted"
ROWS: tuple[list[str], str] = ([], "count_all")
# Of the rows of a key. No column of an event has a name that begins like these.
KEY_AGGREGATES: Aggregates = {
    "_rows": ROWS,
    "_first": ("_number", "min"),
    "_merged": ("_is_merged", "sum"),
    "_newest": ("_age", "max"),
    "_newest_merged": ("_age_merged", "max"),
    "_least": ("_partition", "min"),
    "_greatest": ("_partition", "max"),
}
ANSWERED = ("_rows", "_merged", "_least", "_greatest")


def with_wrong_dedup(judged: pa.Table, deduplicated: pa.Table) -> pa.Table:
    """To fold may do one thing with a fate: what was to be merged is folded. All else is not the row's own fate."""
    before, after = judged[DISPOSITION], deduplicated[DISPOSITION]
    is_same = pc.fill_null(pc.equal(before, after), pc.and_(pc.is_null(before), pc.is_null(after)))
    is_folded = pc.and_(pc.is_in(before, pa.array([MERGE])), pc.is_in(after, pa.array([FOLDED])))
    wrong = pc.or_kleene(deduplicated[WRONG_DISPOSITION], pc.invert(pc.or_(is_same, is_folded)))
    return deduplicated.set_column(deduplicated.schema.get_field_index(WRONG_DISPOSITION), WRONG_DISPOSITION, wrong)


def tally_arrow(rows: pa.Table) -> dict[int, PartitionTally]:
    """Of each partition of the topic."""
    columns = {
        "partition": field_of(rows, "partition"),
        "offset": field_of(rows, "offset"),
        "misrouted": pc.fill_null(rows[WRONG_DISPOSITION], fill_value=False),
        **{disposition: pc.is_in(rows[DISPOSITION], pa.array([disposition])) for disposition in DISPOSITIONS},
    }
    told: Aggregates = {
        "rows": ROWS,
        "offsets": ("offset", "count_distinct"),
        "first": ("offset", "min"),
        "last": ("offset", "max"),
        **{name: (name, "sum") for name in ("misrouted", *DISPOSITIONS)},
    }
    return tally(aggregate(columns, ["partition"], told).to_pylist())


def first_ambiguous_key_arrow(rows: pa.Table, pipeline: Pipeline) -> list[JsonRow]:
    """A key of which not just one row is to be merged, the newest: the first of them, if there is any."""
    keys, sequence = pipeline.target.keys, pipeline.target.sequence
    rows_of_key = rows.filter(pc.is_in(rows[DISPOSITION], pa.array([MERGE, FOLDED])))
    found = aggregate(aggregate_by_key(rows_of_key, keys, sequence), keys, KEY_AGGREGATES)
    is_newest = pc.fill_null(pc.equal(found["_newest"], found["_newest_merged"]), pc.is_null(found["_newest"]))
    is_clear = pc.and_(pc.equal(found["_merged"], 1), is_newest)
    if sequence == POSITION:
        is_clear = pc.and_(is_clear, pc.equal(found["_least"], found["_greatest"]))
    ambiguous = found.filter(pc.invert(is_clear)).sort_by([(key, "ascending") for key in keys])
    return [
        {key: spoken(rows_of_key[key][row["_first"]]) for key in keys} | {name: row[name] for name in ANSWERED}
        for row in ambiguous.select(["_first", *ANSWERED]).slice(0, 1).to_pylist()
    ]


def aggregate_by_key(rows_of_key: pa.Table, keys: Sequence[str], sequence: str) -> dict[str, Any]:
    order_value = field_of(rows_of_key, "offset") if sequence == POSITION else sortable(rows_of_key[sequence])
    is_merged = pc.equal(rows_of_key[DISPOSITION], MERGE)
    return {
        **{key: sortable(rows_of_key[key]) for key in keys},
        "_number": np.arange(rows_of_key.num_rows),
        "_is_merged": is_merged,
        "_age": order_value,
        "_age_merged": pc.if_else(is_merged, order_value, pa.scalar(None, order_value.type)),
        "_partition": field_of(rows_of_key, "partition"),
    }


def spoken(value: pa.Scalar) -> Any:
    """Python knows fewer years than Spark."""
    return str(value.cast(pa.string())) if pa.types.is_temporal(value.type) else value.as_py()
