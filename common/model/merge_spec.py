"""What a merge is to do, as data: strategies on Spark render it as SQL, rules on Arrow evaluate it."""

from dataclasses import dataclass

# The column of a table that keeps where each row comes from.
LINEAGE = "_alluvium"


@dataclass(frozen=True)
class MergeSpec:
    """How the changes of a batch meet the rows of a table, under the table's own names."""

    keys: tuple[str, ...]
    # Columns that take the value of the change, the keys among them.
    sets: tuple[str, ...]
    # Columns that become null.
    clears: tuple[str, ...]
    # A change replaces a row only if it has a greater value here. Without one it always does.
    ordering: str | None
    deletes: bool
