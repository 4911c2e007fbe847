"""A data file of a table, as the table's log has it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# What stands in the log under `add`, `cdc` or `remove`.
Entry = Mapping[str, Any]


@dataclass(frozen=True)
class DataFile:
    """One `add` entry of the log."""

    path: str
    # By the names that columns have in the files. With column mapping they differ from the table's.
    partition_values: Mapping[str, str | None]
    size: int
    # None where it is not known.
    rows: int | None
    has_deletion_vector: bool
    # The entry itself, without statistics.
    entry: Entry
