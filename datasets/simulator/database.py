"""A simulated database as it is: its columns, its rows, and a hash of each table."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
from psycopg import sql
from psycopg.types.json import set_json_loads

from common.connect.source import Row
from common.errors import UsageError
from datasets.simulator.book import Columns
from datasets.simulator.table_hash import TableHash, kind_of

COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
WHERE n.nspname = %s AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum
"""
Connection = psycopg.Connection[Row]


@dataclass(frozen=True)
class TableSummary:
    """Rows of a table, their hash, and the kind of each column, which a reader elsewhere needs for the same hash."""

    table: str
    rows: int
    hash: str
    kinds: dict[str, str]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def columns_of(connection: Connection, schema: str) -> Columns:
    """Read the columns of every table, partitions left out, with their types."""
    found: Columns = {}
    for table, column, kind in connection.execute(COLUMNS, [schema]):
        found.setdefault(table, {})[column] = kind
    return found


def require_columns(connection: Connection, schema: str, create: str) -> Columns:
    found = columns_of(connection, schema)
    if not found:
        raise UsageError(f"the database has no schema '{schema}' with tables", f"create it with {create}")
    return found


def summaries(connection: Connection, schema: str) -> list[TableSummary]:
    """Read every table in one transaction, so that all of them stand at the same point."""
    connection.rollback()
    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    # As text: each program that computes the hash parses JSON by itself.
    set_json_loads(lambda data: data if isinstance(data, str) else bytes(data).decode(), connection)
    try:
        with connection.transaction():
            columns = columns_of(connection, schema)
            return [summary(connection, schema, table, kinds) for table, kinds in sorted(columns.items())]
    finally:
        connection.isolation_level = None


def summary(connection: Connection, schema: str, table: str, columns: dict[str, str]) -> TableSummary:
    hashed = TableHash({name: kind_of(kind) for name, kind in columns.items()})
    names = sql.SQL(", ").join(map(sql.Identifier, columns))
    query = sql.SQL("SELECT {} FROM {}").format(names, sql.Identifier(schema, table))
    with connection.cursor(name="summary") as cursor:
        cursor.execute(query)
        for row in cursor:
            hashed.add(dict(zip(columns, row, strict=True)))
    return TableSummary(table, hashed.rows, hashed.hexdigest(), hashed.kinds)


def rows_by(connection: Connection) -> Callable[[str], list[Row]]:
    return lambda query: connection.execute(query.encode()).fetchall()
