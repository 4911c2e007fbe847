"""The command line of a simulator: create, run, change, summary."""

import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import click
from psycopg import sql

from common import stop
from common.connect.source import connected
from common.errors import UsageError
from common.produce.pace import Pace, check_rate
from common.produce.progress import LINE_SECONDS, at_most_every
from common.settings.connector import Database
from common.settings.load_connector import read_connector
from common.settings.remedies import command as shown
from datasets.simulator.book import Book
from datasets.simulator.database import Connection, TableSummary, columns_of, require_columns, rows_by, summaries
from datasets.simulator.execution import Counts, Execution, Limits, described

DEFAULT_OPERATIONS = 1_000


def simulator(book: type[Book], script: str) -> click.Group:
    """Build the command of one book."""
    live = Live(book, shown(f"submit/{script}.sh create"))

    @click.group(no_args_is_help=False, help=f"A live database, the schema '{book.schema}'.")
    @click.option("--connector", default=book.schema, show_default=True, help="A file of conf/connectors.")
    @click.pass_context
    def main(context: click.Context, connector: str) -> None:
        context.obj = connector

    @main.command()
    @click.option(
        "--size", type=click.IntRange(min=1), default=100, show_default=True, help="How many rows to begin with."
    )
    @click.option("--seed", type=int, default=1, show_default=True, help="The same seed, the same rows.")
    @click.option("--replace", is_flag=True, help="Drop the schema first, with everything in it.")
    @click.pass_obj
    def create(connector: str, /, **options: Any) -> None:
        """Create the schema and its first rows."""
        live.create(read_connector(connector).database, **options)

    @main.command()
    @click.option(
        "--operations", type=click.IntRange(min=1), help=f"By default {DEFAULT_OPERATIONS}, without --seconds."
    )
    @click.option("--seconds", type=click.FloatRange(min=0, min_open=True), help="End after this time.")
    @click.option("--rate", type=float, metavar="N", help="Operations a second; without it, as fast as possible.")
    @click.option("--seed", type=int, default=1, show_default=True, help="The same seed, the same operations.")
    @click.option("--truncate", is_flag=True, help="Truncate a table now and then, too.")
    @click.option(
        "--change",
        "changes",
        type=click.Choice(list(book.changes)),
        multiple=True,
        help="A schema change on the way; several are spread over the operations.",
    )
    @click.option("--json", "as_json", is_flag=True, help="The summary for a machine.")
    @click.pass_obj
    def run(connector: str, /, **options: Any) -> None:
        """Change the rows by seeded random operations, each a transaction."""
        live.run(read_connector(connector).database, **options)

    @main.command()
    @click.argument("names", metavar="CHANGE...", nargs=-1, required=True, type=click.Choice(list(book.changes)))
    @click.pass_obj
    def change(connector: str, names: tuple[str, ...]) -> None:
        """Change the schema: add a column, widen, rename or drop one, create a table."""
        live.change(read_connector(connector).database, names)

    @main.command()
    @click.option("--json", "as_json", is_flag=True, help="For a machine, with the kinds of the columns.")
    @click.pass_obj
    def summary(connector: str, *, as_json: bool) -> None:
        """Print rows and hash of each table."""
        live.summary(read_connector(connector).database, as_json=as_json)

    return main


class Live:
    """What the command does with one book."""

    def __init__(self, book: type[Book], create_command: str) -> None:
        self._book, self._create_command = book, create_command

    def create(self, database: Database, *, size: int, seed: int, replace: bool) -> None:
        schema = self._book.schema
        with connected(database, autocommit=False) as own, connected(database, autocommit=False) as side:
            if replace:
                own.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(schema)))
            elif columns_of(own, schema):
                raise UsageError(f"the schema '{schema}' exists in {described(database)}", "add --replace to drop it")
            made = create_schema(own, self._book, seed)
            execution = Execution(own, side, made, fast=True)
            for each in made.begin(size):
                execution.execute(each)
            print_summaries(summaries(own, schema))

    def run(
        self,
        database: Database,
        *,
        operations: int | None,
        seconds: float | None,
        rate: float | None,
        seed: int,
        truncate: bool,
        changes: tuple[str, ...],
        as_json: bool,
    ) -> None:
        check_rate(rate)
        if operations is None and seconds is None:
            operations = DEFAULT_OPERATIONS
        if changes and operations is None:
            raise UsageError("--change is spread over the operations, and nothing says how many", "add --operations")
        with connected(database, autocommit=False) as own, connected(database, autocommit=False) as side:
            book = self._loaded(own, seed)
            require_unmade(book, changes)
            book.drawn |= book.truncating if truncate else {}
            # A commit that does not wait for the disk reaches a connector later: not for a run at a chosen rate.
            execution = Execution(own, side, book, fast=rate is None)
            began = time.monotonic()
            report = at_most_every(LINE_SECONDS, print_progress, time.monotonic)
            execution.run(Limits(operations, seconds), Pace(rate, time.sleep), report, spread(changes, operations))
            took = time.monotonic() - began
            print_run(execution.counts, summaries(own, book.schema), took, seed, as_json=as_json)
        if stop.requested():
            when = f"after {execution.counts.operations} operations"
            raise stop.Stopped(stop.stopped().by, when, "every operation is whole, run it again to go on")

    def change(self, database: Database, names: Sequence[str]) -> None:
        with connected(database, autocommit=False) as own, connected(database, autocommit=False) as side:
            book = self._loaded(own, 0)
            require_unmade(book, names)
            execution = Execution(own, side, book, fast=False)
            for name in names:
                execution.change_schema(name)
                click.echo(book.changes[name].statement)

    def summary(self, database: Database, *, as_json: bool) -> None:
        with connected(database, autocommit=False) as own:
            require_columns(own, self._book.schema, self._create_command)
            print_summaries(summaries(own, self._book.schema), as_json=as_json)

    def _loaded(self, connection: Connection, seed: int) -> Book:
        book = self._book(seed, require_columns(connection, self._book.schema, self._create_command))
        book.load(rows_by(connection))
        connection.commit()
        return book


def create_schema(connection: Connection, book: type[Book], seed: int) -> Book:
    connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(book.schema)))
    for statement in book.statements:
        connection.execute(statement.encode())
    connection.commit()
    return book(seed, columns_of(connection, book.schema))


def require_unmade(book: Book, changes: Sequence[str]) -> None:
    for name in changes:
        if book.changes[name].is_made(book.columns):
            raise UsageError(f"the schema change '{name}' was made before", "leave it out, or create the schema anew")


def spread(changes: Sequence[str], operations: int | None) -> dict[int, list[str]]:
    """Spread schema changes over a run: of three, the first comes after a quarter of the operations."""
    found: dict[int, list[str]] = {}
    for number, name in enumerate(changes, start=1):
        found.setdefault((operations or 0) * number // (len(changes) + 1), []).append(name)
    return found


def print_progress(done: int) -> None:
    print(f"{done:,} operations", file=sys.stderr)


def print_run(counts: Counts, tables: list[TableSummary], took: float, seed: int, *, as_json: bool) -> None:
    if as_json:
        content: dict[str, Any] = {
            "seed": seed,
            "operations": counts.operations,
            "committed": counts.committed,
            "rolled_back": counts.rolled_back,
            "changes": counts.by_table(),
            "seconds": round(took, 3),
            "tables": [each.as_json() for each in tables],
        }
        click.echo(json.dumps(content, indent=2))
        return
    click.echo(
        f"{counts.operations:,} operations of seed {seed}, {counts.committed:,} transactions committed,"
        f" {counts.rolled_back:,} rolled back, {counts.changed:,} rows changed in {took:.1f} s"
    )
    for table, kinds in counts.by_table().items():
        click.echo(f"  {table}: {', '.join(f'{count:,} {kind}' for kind, count in kinds.items())}")
    print_summaries(tables)


def print_summaries(tables: list[TableSummary], *, as_json: bool = False) -> None:
    if as_json:
        click.echo(json.dumps([each.as_json() for each in tables], indent=2))
        return
    for each in tables:
        click.echo(f"{each.table:<20} {each.rows:>10,} rows  {each.hash}")
