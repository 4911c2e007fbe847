"""The source database, as a connector needs it: slot, publication, tables and their replica identity."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from common.errors import AlluviumError, ConfigurationError, DatabaseUnreachable, first_line
from common.settings.connector import Connector, Database
from common.settings.remedies import start_service
from common.settings.secrets import reveal

TIMEOUT_SECONDS = 10
SERVICE = "postgres-source"
# What libpq says of a wrong setting; everything else may work later.
WRONG = ("authentication failed", "does not exist", "no pg_hba.conf entry", "not permitted", "role ", "SSL")
IDENTITIES = {"d": "default", "n": "nothing", "f": "full", "i": "index"}
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Slot:
    """A replication slot: whether somebody reads it, and how much WAL the server keeps for it."""

    active: bool
    wal_status: str
    kept_bytes: int


@dataclass(frozen=True)
class Publication:
    """A publication: the tables whose changes it sends, and how."""

    tables: frozenset[str]
    via_root: bool
    operations: frozenset[str]


@dataclass(frozen=True)
class SourceTable:
    """A table of the source: how the rows of an update or a delete are told apart in the WAL."""

    name: str
    has_key: bool
    identity: str
    is_partition: bool
    # Columns whose unchanged large values Debezium cannot mark, with their types.
    unmarked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """Everything that a connector needs of its database, as it is now."""

    wal_level: str
    slot: Slot | None
    publication: Publication | None
    tables: tuple[SourceTable, ...]
    has_signals: bool


@contextmanager
def connected(database: Database, *, autocommit: bool = True) -> Iterator[psycopg.Connection[Row]]:
    """Connect as the connector does. What goes wrong is one line with its remedy."""
    try:
        connection = psycopg.connect(
            host=database.host,
            port=database.port,
            dbname=database.name,
            user=database.user,
            password=reveal(database.password),
            sslmode=database.sslmode,
            connect_timeout=TIMEOUT_SECONDS,
            autocommit=autocommit,
            application_name="alluvium",
        )
        with connection:
            yield connection
    except psycopg.OperationalError as error:
        raise refused(database, error) from error


def refused(database: Database, error: psycopg.Error) -> AlluviumError:
    """Tell a wrong setting from a server that does not answer."""
    reason = first_line(error).rpartition("FATAL:")[2].strip()
    where = f"PostgreSQL at {database.address}"
    if any(each in reason for each in WRONG):
        return ConfigurationError(
            f"{where} does not let user '{database.user}' into database '{database.name}' ({reason})",
            f"correct user, password ({database.password}) and name of [database] in the connector file",
        )
    start = start_service(SERVICE, database.host, database.port)
    how = "start it" if start is None else f"start it with {start}"
    return DatabaseUnreachable(
        f"{where} does not answer ({reason})", f"{how}, or correct host and port of [database] in the connector file"
    )


SLOTS = """
SELECT active, wal_status, coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)::bigint
FROM pg_replication_slots WHERE slot_name = %s
"""
PUBLICATIONS = """
SELECT pubviaroot, pubinsert, pubupdate, pubdelete, pubtruncate,
       ARRAY(SELECT schemaname || '.' || tablename FROM pg_publication_tables WHERE pubname = p.pubname)
FROM pg_publication p WHERE pubname = %s
"""
# The arrays are of types for which Debezium has no marker of an unchanged large value.
TABLES = """
SELECT n.nspname || '.' || c.relname,
       EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary),
       c.relreplident, c.relispartition,
       ARRAY(SELECT a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
             FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_type e ON e.oid = t.typelem
             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND t.typcategory = 'A'
               AND e.typname NOT IN ('text', 'varchar', 'bpchar', 'json', 'jsonb', 'bytea', 'int2', 'int4', 'int8',
                                     'date', 'uuid')
             ORDER BY a.attnum)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND n.nspname = ANY(%s) ORDER BY 1
"""
OPERATIONS = ("insert", "update", "delete", "truncate")


def read_source(connection: psycopg.Connection[Row], connector: Connector) -> Source:
    """Read all of it in a few queries."""
    capture = connector.capture
    schemas = capture.schemas or sorted({each.partition(".")[0] for each in capture.tables})
    slot = connection.execute(SLOTS, [capture.slot]).fetchone()
    published = connection.execute(PUBLICATIONS, [capture.publication]).fetchone()
    tables = [
        SourceTable(name, has_key, IDENTITIES[identity], is_partition, tuple(unmarked))
        for name, has_key, identity, is_partition, unmarked in connection.execute(TABLES, [schemas])
        if capture.holds(name)
    ]
    return Source(
        only(connection.execute("SHOW wal_level").fetchone()),
        None if slot is None else Slot(*slot),
        None if published is None else publication(published),
        tuple(tables),
        only(connection.execute("SELECT to_regclass(%s) IS NOT NULL", [quoted(capture.signals)]).fetchone()),
    )


def publication(row: Row) -> Publication:
    via_root, *operations, tables = row
    sent = frozenset(name for name, is_sent in zip(OPERATIONS, operations, strict=True) if is_sent)
    return Publication(frozenset(tables), via_root, sent)


def only(row: Row | None) -> Any:
    return None if row is None else row[0]


def quoted(table: str) -> str:
    """Quote SCHEMA.TABLE as SQL wants it."""
    return identifier(table).as_string(None)


def identifier(table: str) -> sql.Identifier:
    return sql.Identifier(*table.split(".", 1))


def run(connection: psycopg.Connection[Row], statements: Iterable[str], database: Database) -> None:
    """Run statements of `preparation` in one transaction."""
    try:
        with connection.transaction():
            for statement in statements:
                connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege as error:
        raise ConfigurationError(
            f"user '{database.user}' may not prepare database '{database.name}' ({first_line(error)})",
            f"let its owner run: {'; '.join(statements)}",
        ) from error
    except psycopg.Error as error:
        raise AlluviumError(
            f"database '{database.name}' cannot be prepared ({first_line(error)})",
            "create the schemas and tables that the connector file names",
        ) from error


def drop_slot(connection: psycopg.Connection[Row], slot: str) -> bool:
    """Drop a slot; False while somebody reads it."""
    try:
        connection.execute(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = %s", [slot]
        )
    except psycopg.errors.ObjectInUse:
        return False
    return True


def signal(connection: psycopg.Connection[Row], table: str, identity: str, kind: str, data: str) -> None:
    statement = sql.SQL("INSERT INTO {} (id, type, data) VALUES (%s, %s, %s)").format(identifier(table))
    connection.execute(statement, [identity, kind, data])
