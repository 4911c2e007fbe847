"""What a database lacks for a connector, as SQL: nothing where everything is as the connector file says."""

from psycopg import sql

from common.connect.source import OPERATIONS, Source, quoted
from common.settings.connector import Connector

OPTIONS = f"publish = '{', '.join(OPERATIONS)}', publish_via_partition_root = true"


def missing_tables(connector: Connector, source: Source) -> list[str]:
    """List the tables that are captured and whose changes the publication does not send."""
    wanted = {table.name for table in source.tables if not table.is_partition} | {connector.capture.signals}
    sent = frozenset[str]() if source.publication is None else source.publication.tables
    return sorted(wanted - sent)


def statements(connector: Connector, source: Source) -> list[str]:
    """Return the statements that prepare the database, in their order."""
    return [*signal_statements(connector, source), *publication_statements(connector, source)]


def signal_statements(connector: Connector, source: Source) -> list[str]:
    if source.has_signals:
        return []
    table = connector.capture.signals
    return [
        f"CREATE SCHEMA IF NOT EXISTS {name(table.partition('.')[0])}",
        # The columns are Debezium's.
        f"CREATE TABLE {quoted(table)} (id varchar(64) PRIMARY KEY, type varchar(32) NOT NULL, data varchar(2048))",
    ]


def publication_statements(connector: Connector, source: Source) -> list[str]:
    publication = name(connector.capture.publication)
    if source.publication is None:
        return [f"CREATE PUBLICATION {publication} FOR {objects(connector)} WITH ({OPTIONS})"]
    found = []
    if missing_tables(connector, source):
        found.append(f"ALTER PUBLICATION {publication} SET {objects(connector)}")
    if not source.publication.via_root or source.publication.operations != set(OPERATIONS):
        found.append(f"ALTER PUBLICATION {publication} SET ({OPTIONS})")
    return found


def objects(connector: Connector) -> str:
    """Name what is published. A whole schema also publishes the tables that it will have."""
    capture = connector.capture
    schemas = [f"TABLES IN SCHEMA {name(each)}" for each in capture.schemas]
    # A table of a published schema cannot be published by itself, too.
    signals = [] if capture.signals.partition(".")[0] in capture.schemas else [capture.signals]
    tables = [f"TABLE {quoted(each)}" for each in [*capture.tables, *signals]]
    return ", ".join([*schemas, *tables])


def name(text: str) -> str:
    return sql.Identifier(text).as_string(None)
