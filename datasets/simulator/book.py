"""What a simulated database is: its tables, the values of their columns, and the operations on them.

A book plans and never executes. It keeps the keys that exist, and draws everything from one seeded stream: with the
same seed and the same rows at the start, it plans the same operations.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from datasets.simulator import operation
from datasets.simulator.chance import Chance
from datasets.simulator.operation import Operation, Statement

# Makes a value of a column, whose type may have been widened meanwhile.
Maker = Callable[[Chance, str], Any]
# Types of the columns of each table, by PostgreSQL's names.
Columns = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Table:
    """One table: its key, and how the values of its other columns are made."""

    keys: tuple[str, ...]
    makers: Mapping[str, Maker]
    # Columns with large values, which most updates do not touch.
    large: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class SchemaChange:
    """A change of the schema on demand, and whether the columns show that it was made."""

    statement: str
    is_made: Callable[[Columns], bool]


class Book(ABC):
    """One simulated database."""

    schema: ClassVar[str]
    tables: ClassVar[Mapping[str, Table]]
    # Operations by name, with how often each is drawn.
    weights: ClassVar[Mapping[str, int]]
    # Operations that are drawn on demand only.
    truncating: ClassVar[Mapping[str, int]]
    changes: ClassVar[Mapping[str, SchemaChange]]
    # What `create` runs in one transaction, besides CREATE SCHEMA.
    statements: ClassVar[tuple[str, ...]]
    # Operations that a transaction stays open for.
    longest_hold = 25

    def __init__(self, seed: int, columns: Columns) -> None:
        self.chance = Chance(seed)
        self.drawn = dict(self.weights)
        self.columns = columns
        self._left_open = 0

    @abstractmethod
    def load(self, rows: Callable[[str], list[tuple[Any, ...]]]) -> None:
        """Take up the keys that exist. `rows` runs a query."""

    @abstractmethod
    def begin(self, size: int) -> list[Operation]:
        """Plan the rows of a new database."""

    @abstractmethod
    def finish_held(self) -> tuple[Statement, ...]:
        """Plan the last statements of the open transaction, and take up what it has changed."""

    def next_operation(self) -> Operation:
        """Plan the next operation. An open transaction is committed when its time has come."""
        if self._left_open:
            self._left_open -= 1
            if not self._left_open:
                return Operation("finish", self.finish_held(), "finish")
        while True:
            name = self.chance.weighted(self.drawn)
            planned: Operation | None = getattr(self, name)()
            if planned is not None:
                return planned

    def finish(self) -> Operation | None:
        """Plan the end of a transaction that is still open."""
        if not self._left_open:
            return None
        self._left_open = 0
        return Operation("finish", self.finish_held(), "finish")

    @property
    def holds(self) -> bool:
        """True while a transaction is open."""
        return self._left_open > 0

    def opened(self, name: str, *statements: Statement) -> Operation:
        """Leave a transaction open across the next operations."""
        self._left_open = self.chance.between(2, self.longest_hold)
        return Operation(name, statements, "open")

    def row(self, table: str, **keys: Any) -> dict[str, Any]:
        """Make a whole row, as far as the table has the columns."""
        return keys | {name: self.made(table, name) for name in self.present(table)}

    def some(self, table: str, count: int = 3) -> dict[str, Any]:
        """Make new values of a few columns, none of them large."""
        small = [name for name in self.present(table) if name not in self.tables[table].large]
        chosen = self.chance.pick_some(small, self.chance.between(1, count))
        return {name: self.made(table, name) for name in chosen}

    def present(self, table: str) -> list[str]:
        """List the columns with a maker that the table has now, in the order of the makers."""
        return [name for name in self.tables[table].makers if name in self.columns[table]]

    def made(self, table: str, column: str) -> Any:
        return self.tables[table].makers[column](self.chance, self.columns[table][column])

    def insert(self, table: str, row: Mapping[str, Any]) -> Statement:
        return operation.insert(self.schema, table, row)

    def update(self, table: str, changes: Mapping[str, Any], **where: Any) -> Statement:
        return operation.update(self.schema, table, changes, where)

    def rekey(self, table: str, changes: Mapping[str, Any], **where: Any) -> Statement:
        return operation.update(self.schema, table, changes, where, "rekey")

    def delete(self, table: str, **where: Any) -> Statement:
        return operation.delete(self.schema, table, where)

    def truncated(self, table: str) -> Statement:
        return operation.truncate(self.schema, table)
