"""The section [target]: the table that events settle in."""

from functools import cached_property
from typing import Literal, Self

from pydantic import Field, model_validator

from common.settings.base import Column, Section
from common.settings.kinds import IDENTIFIER

# The order of events is their place in the topic, unless a column says it.
POSITION = "position"
# With this property Delta forgets transactions, and with them where a pipeline goes on.
TRANSACTION_RETENTION = "delta.setTransactionRetentionDuration"


class SchemaChanges(Section):
    """The policy for columns that differ between the table and this file. Every other difference stops the job."""

    added: Literal["apply", "stop"] = "apply"
    """A declared column that the table lacks: `apply` adds it before the first batch.

    Example: added = "stop"
    """
    widened: Literal["apply", "stop"] = "apply"
    """A column whose type Delta can widen to the declared one, such as int to bigint: `apply` widens it.

    Example: widened = "stop"
    """
    undeclared: Literal["stop", "keep", "null"] = "stop"
    """A column of the table that this file does not declare: `keep` leaves its old value in a row that an event
    changes, `null` sets it null.

    Example: undeclared = "keep"
    """


class Target(Section):
    """The Delta table that events settle in: its path and its name, where they are given, and its form."""

    path: str | None = Field(default=None, min_length=1)
    """The place of the table, for commands that are given none: a folder, relative to the project's folder unless it
    begins with `/`, or a URI.

    Example: path = "var/delta/parcels"
    """
    name: Column | None = None
    """The name of the table in `submit/pyspark.sh`. By default, the name of its folder.

    Example: name = "parcels"
    """
    keys: list[Column] = Field(min_length=1)
    """The columns that tell rows apart: an event with a new key adds a row, another one replaces the row of its key. A
    key is never null.

    Example: keys = ["parcel_id"]
    """
    sequence: Column = POSITION
    """The column that orders the events of a key: the greater value is newer. With `position`, the later one in the
    topic is newer.

    Example: sequence = "scanned_at"
    """
    lineage: bool = False
    """Adds the column `_alluvium` to the table: the topic, partition, offset and transaction that each row is from.

    Example: lineage = true
    """
    derived: dict[Column, str] = Field(default_factory=dict)
    """Further columns, as SQL expressions on `source.columns` and on those that stand before.

    Example: derived = { posted_month = "substring(CAST(posted_on AS STRING), 1, 7)" }
    """
    partition_by: list[Column] = Field(default_factory=list)
    """The columns that divide the table into folders.

    Example: partition_by = ["posted_month"]
    """
    immutable: list[Column] = Field(default_factory=list)
    """Columns of which you promise that they never change for a key.

    Example: immutable = ["posted_month"]
    """
    prune_by: list[Column] = Field(default_factory=list)
    """Columns by which a batch leaves files unread that cannot hold its keys: keys or `immutable` ones, of type int,
    bigint, date, timestamp or string.

    Example: prune_by = ["posted_month"]
    """
    properties: dict[str, str] = Field(default_factory=dict)
    """Properties that Delta gives the table when it is created. Their values are texts.

    Example: properties = { "delta.checkpointInterval" = "50" }
    """
    schema_changes: SchemaChanges = SchemaChanges()
    """The policy for columns that differ between the table and this file."""

    @property
    def table_name(self) -> str | None:
        """The name of the table: the given one, or the name of its folder."""
        return self.name or (None if self.path is None else self.path.rstrip("/").rpartition("/")[2])

    @cached_property
    def ordering(self) -> str | None:
        """The column that orders the events of a key; None where their place in the topic does."""
        return None if self.sequence == POSITION else self.sequence

    @model_validator(mode="after")
    def transactions_are_kept(self) -> Self:
        for name in self.properties:
            if name.lower() == TRANSACTION_RETENTION.lower():
                raise ValueError(
                    f"properties: with {name} the table would forget its transactions, and with them where to go on"
                )
        return self

    @model_validator(mode="after")
    def the_table_has_a_name(self) -> Self:
        if self.path is None and self.name is not None:
            raise ValueError("name has no effect without path")
        if self.table_name is not None and IDENTIFIER.fullmatch(self.table_name) is None:
            raise ValueError(f"path ends in '{self.table_name}', which is no name of a table; say one in name")
        return self
