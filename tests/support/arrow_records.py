"""Rows of a batch as Arrow, by hand: what the rules see of records."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from common.model.disposition import DISPOSITION, MERGE
from common.model.record import RECORD
from common.rules.accounting import WRONG_DISPOSITION

PLACE = pa.struct([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])
SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("version", pa.float64()),
        (DISPOSITION, pa.string()),
        (WRONG_DISPOSITION, pa.bool_()),
        (RECORD, PLACE),
    ]
)


def row(offset: int, *, key: int | None = 0, version: float | None = None, **other: Any) -> dict[str, Any]:
    """One row: a record of partition 0 of `t` that is to be merged, unless it is said otherwise."""
    place = {"topic": other.get("topic", "t"), "partition": other.get("partition", 0), "offset": offset}
    return {
        "id": key,
        "version": version,
        DISPOSITION: other.get("disposition", MERGE),
        WRONG_DISPOSITION: other.get("wrong", False),
        RECORD: place,
    }


def batch(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)
