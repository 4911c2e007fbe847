"""What a merge is to do, as data: strategies on Spark render it as SQL, rules on Arrow evaluate it."""

from dataclasses import dataclass

# The column of a table that keeps where each row comes from.
LINEAGE = "_alluvium"


@dataclass(frozen=True)
class MergeSpec:
    """How the changes of a batch meet the rows of a table, under the table's own names."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    # A change replaces a row only if it has a greater value here. Without one it always does.
    ordering: str | None
    deletes: bool
    lineage: bool
    # Columns of the table that the pipeline does not declare and that each event sets to null.
    nulled: tuple[str, ...] = ()

    def sets(self, column: str) -> bool:
        """True for a column that takes the value of the change."""
        return column in self.columns or (column == LINEAGE and self.lineage)

    def clears(self, column: str) -> bool:
        """True for a column that becomes null.

        A pipeline that no longer declares lineage must not leave the lineage of another event with its own values.
        """
        return column in self.nulled or (column == LINEAGE and not self.lineage)
