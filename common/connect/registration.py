"""Register a connector and end it: database first, then Connect, each step harmless to repeat."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql

from common.connect.health import anew, no_plugin, not_logical
from common.connect.preparation import name as sql_name
from common.connect.preparation import statements
from common.connect.rendering import rendered
from common.connect.source import Source, connected, drop_slot, read_source, run, signal
from common.connect.worker import State, Worker, connector_command
from common.errors import AlluviumError, ConfigurationError, StateError, TryLater, UsageError
from common.settings.connector import Connector
from common.waiting import tries

# How long a reader of the slot may take to end.
RELEASE_SECONDS = 30.0


@dataclass(frozen=True)
class Plan:
    """What `register` would do: statements for the database, and the configuration for Connect."""

    statements: list[str]
    configuration: dict[str, str]


def plan(connector: Connector) -> Plan:
    """Read the database, and change nothing."""
    with connected(connector.database) as connection:
        return Plan(statements(connector, read_source(connection, connector)), rendered(connector))


def register(connector: Connector, seconds: float) -> State:
    """Prepare the database, tell Connect, and wait until the connector runs or has failed."""
    worker, configuration = Worker(connector.connect.url), rendered(connector)
    require_plugin(worker, configuration["connector.class"])
    with connected(connector.database) as connection:
        source = read_source(connection, connector)
        require_logical(connector, source)
        require_slot(connector, source, worker)
        run(connection, statements(connector, source), connector.database)
    complaints = worker.complaints(configuration["connector.class"], {**configuration, "name": connector.name})
    if complaints:
        raise ConfigurationError(
            f"Connect refuses the connector '{connector.name}' ({complaints[0]})", "correct its file"
        )
    worker.put(connector.name, configuration)
    return await_outcome(worker, connector, seconds)


def require_plugin(worker: Worker, plugin: str) -> None:
    if plugin not in worker.plugins():
        missing = no_plugin(plugin)
        raise AlluviumError(missing.problem, missing.remedy)


def require_logical(connector: Connector, source: Source) -> None:
    if source.wal_level != "logical":
        wrong = not_logical(connector, source)
        raise ConfigurationError(wrong.problem, wrong.remedy)


def require_slot(connector: Connector, source: Source, worker: Worker) -> None:
    """Refuse to go on behind a hole: Connect remembers a position, and the slot that kept the changes is gone."""
    if source.slot is None and worker.remembers(connector.name):
        raise StateError(
            f"the replication slot '{connector.capture.slot}' is missing, and Connect remembers where it stood: changes"
            " since then are lost",
            anew(connector),
        )


def await_outcome(worker: Worker, connector: Connector, seconds: float) -> State:
    """Wait until every task runs; the error of one that has failed is ours."""
    state = None
    for _ in tries(seconds, pause=0.2):
        state = worker.state(connector.name)
        if state is not None and (state.running or state.failed):
            break
    if state is None or not (state.running or state.failed):
        raise TryLater(
            f"the connector '{connector.name}' does not run after {seconds:.0f} s",
            f"see {connector_command('status', connector.name)}",
        )
    if state.failed:
        error = state.error or next(filter(None, (task.error for task in state.tasks)), "no trace")
        raise AlluviumError(
            f"the connector '{connector.name}' has failed ({error})",
            f"see {connector_command('status', connector.name)}",
        )
    return state


def require_registered(worker: Worker, connector: Connector) -> State:
    state = worker.state(connector.name)
    if state is None:
        raise UsageError(
            f"the connector '{connector.name}' is not registered", connector_command("register", connector.name)
        )
    return state


def delete(connector: Connector, *, forget: bool) -> None:
    """Delete a connector. With `forget`, also its position, its slot and its publication: the next begins anew."""
    worker = Worker(connector.connect.url)
    registered = worker.state(connector.name) is not None
    if not registered and not forget:
        require_registered(worker, connector)
    if registered and forget:
        worker.stop(connector.name)
        worker.forget_offsets(connector.name)
    if registered:
        worker.delete(connector.name)
    if forget:
        remove_from_database(connector)


def remove_from_database(connector: Connector) -> None:
    publication = sql_name(connector.capture.publication)
    with connected(connector.database) as connection:
        if not any(drop_slot(connection, connector.capture.slot) for _ in tries(RELEASE_SECONDS, pause=0.2)):
            raise TryLater(
                f"somebody still reads the slot '{connector.capture.slot}'",
                "end that connector, then run it again",
            )
        connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(sql.SQL(publication)))


def request_snapshot(connector: Connector, tables: Sequence[str]) -> str:
    """Tell the connector to read tables again, beside the stream; return the id of the request."""
    unknown = [table for table in tables if not connector.capture.holds(table)]
    if unknown:
        raise UsageError(
            f"the connector '{connector.name}' does not capture {unknown[0]}", "name SCHEMA.TABLE of its file"
        )
    require_registered(Worker(connector.connect.url), connector)
    identity = uuid.uuid4().hex
    data = json.dumps({"data-collections": list(tables), "type": "incremental"})
    with connected(connector.database) as connection:
        if not read_source(connection, connector).has_signals:
            raise StateError(
                f"the signal table {connector.capture.signals} is missing",
                connector_command("register", connector.name),
            )
        signal(connection, connector.capture.signals, identity, "execute-snapshot", data)
    return identity
