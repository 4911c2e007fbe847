"""The accounts of rows that this process holds itself: the same questions, without a query."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.account.tally import PartitionTally, tally
from common.arrow import Told, grouped, in_order
from common.ask import Answer
from common.divide.fate import FATE, FATES, FOLDED, MERGE
from common.read.kafka import field_of
from common.settings.pipeline import POSITION, Pipeline

# Whether a row's fate is not its own, as `is_misrouted` says: a column that goes with rows to be held.
MISROUTED = "_misrouted"
ROWS: tuple[list[str], str] = ([], "count_all")
# Of the rows of a key. No column of an event has a name that begins like these.
RIVALRY: Told = {
    "_rows": ROWS,
    "_first": ("_number", "min"),
    "_merged": ("_is_merged", "sum"),
    "_newest": ("_age", "max"),
    "_newest_merged": ("_age_merged", "max"),
    "_least": ("_partition", "min"),
    "_greatest": ("_partition", "max"),
}
ANSWERED = ("_rows", "_merged", "_least", "_greatest")


def tally_held(rows: pa.Table) -> dict[int, PartitionTally]:
    """Of each partition of the topic."""
    columns = {
        "partition": field_of(rows, "partition"),
        "offset": field_of(rows, "offset"),
        "misrouted": pc.fill_null(rows[MISROUTED], fill_value=False),
        **{fate: pc.is_in(rows[FATE], pa.array([fate])) for fate in FATES},
    }
    told: Told = {
        "rows": ROWS,
        "offsets": ("offset", "count_distinct"),
        "first": ("offset", "min"),
        "last": ("offset", "max"),
        **{name: (name, "sum") for name in ("misrouted", *FATES)},
    }
    return tally(grouped(columns, ["partition"], told).to_pylist())


def unclear_held(rows: pa.Table, pipeline: Pipeline) -> list[Answer]:
    """A key of which not just one row is to be merged, the newest: the first of them, if there is any."""
    keys, sequence = pipeline.target.keys, pipeline.target.sequence
    rivals = rows.filter(pc.is_in(rows[FATE], pa.array([MERGE, FOLDED])))
    found = grouped(of_rivals(rivals, keys, sequence), keys, RIVALRY)
    is_newest = pc.fill_null(pc.equal(found["_newest"], found["_newest_merged"]), fill_value=False)
    is_clear = pc.and_(pc.equal(found["_merged"], 1), is_newest)
    if sequence == POSITION:
        is_clear = pc.and_(is_clear, pc.equal(found["_least"], found["_greatest"]))
    unclear = found.filter(pc.invert(is_clear)).sort_by([(key, "ascending") for key in keys])
    return [
        {key: spoken(rivals[key][row["_first"]]) for key in keys} | {name: row[name] for name in ANSWERED}
        for row in unclear.slice(0, 1).to_pylist()
    ]


def of_rivals(rivals: pa.Table, keys: Sequence[str], sequence: str) -> dict[str, Any]:
    age = field_of(rivals, "offset") if sequence == POSITION else in_order(rivals[sequence])
    is_merged = pc.equal(rivals[FATE], MERGE)
    return {
        **{key: in_order(rivals[key]) for key in keys},
        "_number": np.arange(rivals.num_rows),
        "_is_merged": is_merged,
        "_age": age,
        "_age_merged": pc.if_else(is_merged, age, pa.scalar(None, age.type)),
        "_partition": field_of(rivals, "partition"),
    }


def spoken(value: pa.Scalar) -> Any:
    """Python knows fewer years than Spark."""
    return str(value.cast(pa.string())) if pa.types.is_temporal(value.type) else value.as_py()
