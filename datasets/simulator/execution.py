"""Execute what a book plans: each operation a transaction, one of them perhaps left open across others."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import psycopg

from common import stop
from common.errors import AlluviumError, first_line
from common.produce.pace import Pace
from common.settings.connector import Database
from datasets.simulator.book import Book
from datasets.simulator.database import Connection, columns_of
from datasets.simulator.operation import Operation, Statement

# An operation that waits longer waits for somebody else's transaction.
LOCK_TIMEOUT = "SET lock_timeout = '20s'"
# The commit does not wait for the disk: a power cut may lose the last operations.
FAST = "SET synchronous_commit = off"


@dataclass
class Counts:
    """What was done: operations, transactions by their end, and rows by table and kind."""

    operations: int = 0
    committed: int = 0
    rolled_back: int = 0
    rows: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def changed(self) -> int:
        return sum(count for (_, kind), count in self.rows.items() if kind != "truncate")

    def by_table(self) -> dict[str, dict[str, int]]:
        found: dict[str, dict[str, int]] = {}
        for (table, kind), count in sorted(self.rows.items()):
            found.setdefault(table, {})[kind] = count
        return found


@dataclass(frozen=True)
class Limits:
    """When a run ends: after so many operations, or so many seconds, whichever comes first."""

    operations: int | None
    seconds: float | None

    def allows(self, done: int, began: float) -> bool:
        in_time = self.seconds is None or time.monotonic() - began < self.seconds
        return in_time and (self.operations is None or done < self.operations)


class Execution:
    """Two connections: one for the operations, one for the transaction that stays open."""

    def __init__(self, own: Connection, side: Connection, book: Book, *, fast: bool) -> None:
        self._own, self._side, self.book = own, side, book
        self.counts = Counts()
        for connection in (own, side):
            connection.execute(LOCK_TIMEOUT)
            if fast:
                connection.execute(FAST)
            connection.commit()

    def run(
        self, limits: Limits, pace: Pace, report: Callable[[int], None], changes: Mapping[int, list[str]] | None = None
    ) -> None:
        """Run until the limits or a signal. `changes` names schema changes by the operation before which they come."""
        began = time.monotonic()
        with stop.deferred():
            while limits.allows(self.counts.operations, began):
                pace.wait_for(self.counts.operations)
                if stop.requested():
                    break
                for change in (changes or {}).get(self.counts.operations, []):
                    self.change_schema(change)
                self.execute(self.book.next_operation())
                self.counts.operations += 1
                report(self.counts.operations)
            self.finish()

    def finish(self) -> None:
        """Commit what is still open, so that the same operations leave the same rows."""
        last = self.book.finish()
        if last is not None:
            self.execute(last)

    def change_schema(self, name: str) -> None:
        # ALTER TABLE would wait for the open transaction, and that one for us.
        self.finish()
        with failures_named(name):
            self._own.execute(self.book.changes[name].statement.encode())
            self._own.commit()
        self.book.columns = columns_of(self._own, self.book.schema)
        self._own.commit()

    def execute(self, operation: Operation) -> None:
        connection = self._side if operation.end in {"open", "finish"} else self._own
        with failures_named(operation.name):
            rows = Counter(dict(self._counted(connection, operation.statements)))
            if operation.end == "rollback":
                connection.rollback()
                self.counts.rolled_back += 1
                return
            self.counts.rows += rows
            if operation.end != "open":
                connection.commit()
                self.counts.committed += 1

    def _counted(
        self, connection: Connection, statements: tuple[Statement, ...]
    ) -> Iterator[tuple[tuple[str, str], int]]:
        found: Counter[tuple[str, str]] = Counter()
        for each in statements:
            done = connection.execute(each.text.encode(), each.values).rowcount
            found[each.table, each.kind] += 1 if each.kind == "truncate" else done
        yield from found.items()


@contextmanager
def failures_named(operation: str) -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise AlluviumError(
            f"the database refuses the operation '{operation}' ({first_line(error)})",
            "nothing of it is committed; let the simulator be alone on its schema, or create it anew",
        ) from error


def described(database: Database) -> str:
    return f"{database.name} at {database.address}"
