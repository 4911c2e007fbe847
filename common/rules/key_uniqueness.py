"""Check that one row of each key is to be merged, and that it is the newest one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.errors import SplitKeyError, unbalanced
from common.model.disposition import DISPOSITION, FOLDED, MERGE
from common.model.offsets import TopicPartition
from common.model.record import partition_numbers, record_field
from common.rules.compare import ROWS, Aggregates, aggregate, sortable

# The aggregates of the rows of a key. No column of an event has a name that begins like these.
KEY_AGGREGATES: Aggregates = {
    "_rows": ROWS,
    "_first": ("_number", "min"),
    "_merged": ("_is_merged", "sum"),
    "_newest": ("_order", "max"),
    "_newest_merged": ("_order_merged", "max"),
    "_least": ("_partition", "min"),
    "_greatest": ("_partition", "max"),
}


def first_ambiguous_key(rows: pa.Table, keys: Sequence[str], ordering: str | None) -> list[dict[str, Any]]:
    """Find the first ambiguous key, if there is one: a key that has not exactly one row to merge, the newest."""
    competing = rows.filter(pc.is_in(rows[DISPOSITION], pa.array([MERGE, FOLDED])))
    numbers, partitions = partition_numbers(competing)
    groups = aggregate(key_columns(competing, keys, ordering, numbers), keys, KEY_AGGREGATES)
    is_newest = pc.fill_null(pc.equal(groups["_newest"], groups["_newest_merged"]), pc.is_null(groups["_newest"]))
    is_clear = pc.and_(pc.equal(groups["_merged"], 1), is_newest)
    if ordering is None:
        is_clear = pc.and_(is_clear, pc.equal(groups["_least"], groups["_greatest"]))
    ambiguous = groups.filter(pc.invert(is_clear)).sort_by([(key, "ascending") for key in keys])
    return [
        {
            **{key: key_text(competing[key][row["_first"]]) for key in keys},
            **{name: row[name] for name in ("_rows", "_merged")},
            **{name: partitions[row[name]]._asdict() for name in ("_least", "_greatest")},
        }
        for row in ambiguous.select(["_first", "_rows", "_merged", "_least", "_greatest"]).slice(0, 1).to_pylist()
    ]


def key_columns(
    rows: pa.Table, keys: Sequence[str], ordering: str | None, partitions: pa.ChunkedArray
) -> dict[str, Any]:
    """Return the columns that KEY_AGGREGATES are made of."""
    order = record_field(rows, "offset") if ordering is None else sortable(rows[ordering])
    is_merged = pc.equal(rows[DISPOSITION], MERGE)
    return {
        **{key: sortable(rows[key]) for key in keys},
        "_number": np.arange(rows.num_rows),
        "_is_merged": is_merged,
        "_order": order,
        "_order_merged": pc.if_else(is_merged, order, pa.scalar(None, order.type)),
        "_partition": partitions,
    }


def key_text(value: pa.Scalar) -> Any:
    """Return a value for an error line. Times become text, because Python knows fewer years than Spark."""
    return str(value.cast(pa.string())) if pa.types.is_temporal(value.type) else value.as_py()


def check_keys(ambiguous: Iterable[Mapping[str, Any]], keys: Sequence[str], ordering: str | None) -> None:
    """Refuse the batch where a key is ambiguous, and say how."""
    for row in ambiguous:
        key = key_of(row, keys)
        refuse_split(key, row, ordering)
        if row["_merged"] != 1:
            raise unbalanced(f"key {key}: {row['_merged']} of its {row['_rows']} rows are to be merged")
        raise unbalanced(f"key {key}: an older row of it is to be merged, the newest is folded")


def refuse_split(key: str, row: Mapping[str, Any], ordering: str | None) -> None:
    """Refuse a key from two partitions without an ordering column, because their offsets do not order events."""
    if ordering is not None:
        return
    least, greatest = (TopicPartition(**row[name]) for name in ("_least", "_greatest"))
    if least != greatest:
        raise SplitKeyError(
            (least, greatest),
            f"key {key} came from {both(least, greatest)}, whose order nobody knows",
            "key messages by the table's key, or declare a sequence column in the pipeline file",
        )


def both(one: TopicPartition, other: TopicPartition) -> str:
    """Name two partitions in words."""
    if one.topic == other.topic:
        return f"partitions {one.partition} and {other.partition}"
    return f"{one} and {other}"


def key_of(row: Any, keys: Sequence[str]) -> str:
    """Write a key in words: `id=1, part=a`."""
    return ", ".join(f"{name}={row[name]}" for name in keys)
