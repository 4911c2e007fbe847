"""The accounts of rows that this process holds itself: the same questions, without a query."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.engine.accounting import PartitionTally, tally
from common.rules.compare import Told, comparable, grouped
from common.settings.pipeline import POSITION, Pipeline
from common.spark.queries import Answer
from common.spark.source import field_of
from common.spark.validate.disposition import FATE, FATES, FOLDED, MERGE

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


def with_misfolded(judged: pa.Table, folded: pa.Table) -> pa.Table:
    """To fold may do one thing with a fate: what was to be merged is folded. All else is not the row's own fate."""
    before, after = judged[FATE], folded[FATE]
    is_same = pc.fill_null(pc.equal(before, after), pc.and_(pc.is_null(before), pc.is_null(after)))
    is_folded = pc.and_(pc.is_in(before, pa.array([MERGE])), pc.is_in(after, pa.array([FOLDED])))
    wrong = pc.or_kleene(folded[MISROUTED], pc.invert(pc.or_(is_same, is_folded)))
    return folded.set_column(folded.schema.get_field_index(MISROUTED), MISROUTED, wrong)


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
    is_newest = pc.fill_null(pc.equal(found["_newest"], found["_newest_merged"]), pc.is_null(found["_newest"]))
    is_clear = pc.and_(pc.equal(found["_merged"], 1), is_newest)
    if sequence == POSITION:
        is_clear = pc.and_(is_clear, pc.equal(found["_least"], found["_greatest"]))
    unclear = found.filter(pc.invert(is_clear)).sort_by([(key, "ascending") for key in keys])
    return [
        {key: spoken(rivals[key][row["_first"]]) for key in keys} | {name: row[name] for name in ANSWERED}
        for row in unclear.select(["_first", *ANSWERED]).slice(0, 1).to_pylist()
    ]


def of_rivals(rivals: pa.Table, keys: Sequence[str], sequence: str) -> dict[str, Any]:
    age = field_of(rivals, "offset") if sequence == POSITION else comparable(rivals[sequence])
    is_merged = pc.equal(rivals[FATE], MERGE)
    return {
        **{key: comparable(rivals[key]) for key in keys},
        "_number": np.arange(rivals.num_rows),
        "_is_merged": is_merged,
        "_age": age,
        "_age_merged": pc.if_else(is_merged, age, pa.scalar(None, age.type)),
        "_partition": field_of(rivals, "partition"),
    }


def spoken(value: pa.Scalar) -> Any:
    """Python knows fewer years than Spark."""
    return str(value.cast(pa.string())) if pa.types.is_temporal(value.type) else value.as_py()
