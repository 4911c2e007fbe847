"""A data file of a table, as the table's log has it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DataFile:
    """One `add` entry of the log."""

    path: str
    # By the names that columns have in the files. With column mapping they differ from the table's.
    partition_values: dict[str, str | None]
    size: int
    modified: int
    # None where it is not known.
    rows: int | None
    has_deletion_vector: bool

    def action(self) -> dict[str, Any]:
        """Return the entry itself."""
        return {
            "path": self.path,
            "partitionValues": self.partition_values,
            "size": self.size,
            "modificationTime": self.modified,
            "dataChange": True,
        }


def data_file_of(add: Mapping[str, Any]) -> DataFile:
    """Read an `add` entry. Delta Kernel gives the statistics where it has skipped files by them."""
    return DataFile(
        path=add["path"],
        partition_values=add["partitionValues"],
        size=add["size"],
        modified=add["modificationTime"],
        rows=json.loads(add["stats"]).get("numRecords") if add.get("stats") else None,
        has_deletion_vector="deletionVector" in add,
    )
