"""Ask Connect, the database and the brokers how a connector is."""

from dataclasses import dataclass

from common.connect.health import Facts, Finding, findings
from common.connect.heartbeat import heartbeat_age
from common.connect.rendering import rendered
from common.connect.source import Source, connected, read_source
from common.connect.worker import State, Worker
from common.errors import AlluviumError
from common.settings.connector import Connector

PATIENCE_SECONDS = 5.0


@dataclass(frozen=True)
class Status:
    """How a connector is, and what is wrong with it."""

    connector: Connector
    facts: Facts
    findings: list[Finding]

    @property
    def exit_code(self) -> int:
        return next((each.exit_code for each in self.findings if not each.is_note), 0)


def status(connector: Connector) -> Status:
    facts = gather(connector)
    return Status(connector, facts, findings(connector, facts))


def gather(connector: Connector) -> Facts:
    """Ask everybody. Who does not answer is a fact of its own, and the others are asked all the same."""
    worker = Worker(connector.connect.url, PATIENCE_SECONDS)
    plugins: frozenset[str] | AlluviumError
    state: State | None = None
    differing: tuple[str, ...] = ()
    try:
        plugins = frozenset(worker.plugins())
        state, differing = worker.state(connector.name), differing_settings(worker, connector)
    except AlluviumError as error:
        plugins = error
    return Facts(
        plugin=rendered(connector)["connector.class"],
        plugins=plugins,
        state=state,
        differing=differing,
        source=source_of(connector),
        heartbeat_age=None if state is None else heartbeat_age(connector),
    )


def differing_settings(worker: Worker, connector: Connector) -> tuple[str, ...]:
    registered = worker.configuration(connector.name)
    if registered is None:
        return ()
    wanted = rendered(connector) | {"name": connector.name}
    return tuple(sorted(name for name in registered | wanted if registered.get(name) != wanted.get(name)))


def source_of(connector: Connector) -> Source | AlluviumError:
    try:
        with connected(connector.database) as connection:
            return read_source(connection, connector)
    except AlluviumError as error:
        return error
