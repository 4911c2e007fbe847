"""What is wrong with a connector, by what Connect, the database and the brokers say."""

from collections.abc import Iterator
from dataclasses import dataclass

from common.connect.heartbeat import bound_seconds, heartbeat_topic
from common.connect.preparation import missing_tables
from common.connect.source import OPERATIONS, Source
from common.connect.worker import State, connector_command, logs
from common.errors import AlluviumError
from common.settings.connector import Connector

FAILED, WRONG, LATER = 1, 2, 75
# More WAL than this is a danger for the disk of most servers.
MUCH_WAL_BYTES = 1024**3
# As Debezium says it when its slot was dropped, or made anew.
LOST = ("no longer available on the server", "Cannot seek to the last known offset")
CREDENTIALS = ("authentication failed", "no pg_hba.conf entry")


@dataclass(frozen=True)
class Facts:
    """What was found. An error stands where nobody answered."""

    plugin: str
    plugins: frozenset[str] | AlluviumError
    state: State | None
    # Settings of the registered connector that are not those of the file.
    differing: tuple[str, ...]
    source: Source | AlluviumError
    heartbeat_age: float | None


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, with its remedy. A note does not make a connector ill."""

    problem: str
    remedy: str
    exit_code: int
    is_note: bool = False

    def __str__(self) -> str:
        return f"{self.problem}; {self.remedy}"


def findings(connector: Connector, facts: Facts) -> list[Finding]:
    """List everything that is wrong, causes before their consequences."""
    found: list[Finding] = [
        *of_worker(facts),
        *of_database(connector, facts),
        *of_tasks(connector, facts),
        *of_publication(connector, facts),
        *of_tables(facts),
        *of_heartbeat(connector, facts),
        *notes(connector, facts),
    ]
    return sorted(found, key=lambda each: each.is_note)


def of_worker(facts: Facts) -> Iterator[Finding]:
    if isinstance(facts.plugins, AlluviumError):
        yield of_error(facts.plugins)
    elif facts.plugin not in facts.plugins:
        yield no_plugin(facts.plugin)


def no_plugin(plugin: str) -> Finding:
    return Finding(
        f"Connect has no plugin {plugin}",
        "unpack Debezium's PostgreSQL connector into a folder of its plugin.path, and restart the worker",
        FAILED,
    )


def of_error(error: AlluviumError) -> Finding:
    return Finding(error.message, error.remedy, error.exit_code)


def of_database(connector: Connector, facts: Facts) -> Iterator[Finding]:
    source = facts.source
    if isinstance(source, AlluviumError):
        yield of_error(source)
        return
    if source.wal_level != "logical":
        yield not_logical(connector, source)
    yield from of_slot(connector, source, facts.state)


def not_logical(connector: Connector, source: Source) -> Finding:
    return Finding(
        f"PostgreSQL at {connector.database.address} has wal_level = {source.wal_level}",
        "set wal_level = logical and restart it",
        WRONG,
    )


def of_slot(connector: Connector, source: Source, state: State | None) -> Iterator[Finding]:
    slot, name = source.slot, connector.capture.slot
    if slot is None and state is not None:
        yield Finding(
            f"the replication slot '{name}' is missing: changes since it was dropped are lost", anew(connector), 1
        )
    if slot is None:
        return
    if slot.wal_status == "lost":
        yield Finding(
            f"the server has removed WAL that the slot '{name}' needs: changes are lost",
            f"raise max_slot_wal_keep_size, then {anew(connector)}",
            FAILED,
        )
    elif not slot.active and state is not None and state.running:
        yield Finding(
            f"nobody reads the replication slot '{name}', although the task is RUNNING: it may be connecting",
            f"look again in a minute, then at {logs()}",
            LATER,
        )
    if slot.kept_bytes > MUCH_WAL_BYTES:
        yield Finding(
            f"the server keeps {megabytes(slot.kept_bytes)} of WAL for the slot '{name}'",
            "let the connector run; a slot that nobody needs is dropped by "
            + connector_command("delete --forget", connector.name),
            FAILED,
        )


def anew(connector: Connector) -> str:
    """Return what begins anew with a snapshot, after changes were lost."""
    return (
        f"begin anew with a snapshot: {connector_command('delete --forget', connector.name)}"
        f" && {connector_command('register', connector.name)}"
    )


def of_tasks(connector: Connector, facts: Facts) -> Iterator[Finding]:
    state = facts.state
    if isinstance(facts.plugins, AlluviumError):
        return
    if state is None:
        yield Finding(
            f"the connector '{connector.name}' is not registered", connector_command("register", connector.name), FAILED
        )
        return
    if state.connector == "FAILED":
        yield of_failure(connector, "the connector has failed", state.error)
    for task in state.tasks:
        if task.state == "FAILED":
            yield of_failure(connector, f"task {task.number} has failed", task.error)
    if state.connector == "RUNNING" and not state.tasks:
        yield Finding("the connector has no task yet", f"look again in a minute, then at {logs()}", LATER)
    waiting = [task.number for task in state.tasks if task.state in {"UNASSIGNED", "RESTARTING"}]
    if waiting:
        yield Finding(f"task {waiting[0]} waits for a worker", "look again in a minute", LATER)


def of_failure(connector: Connector, what: str, error: str | None) -> Finding:
    error = error or "no trace"
    if any(each in error for each in CREDENTIALS):
        return Finding(
            f"{what}: {error}",
            f"correct user and password of [database], then {connector_command('register', connector.name)}",
            WRONG,
        )
    if any(each in error for each in LOST):
        return Finding(f"{what}: {error}", anew(connector), FAILED)
    if "publication" in error and "does not exist" in error:
        return Finding(f"{what}: {error}", connector_command("register", connector.name), FAILED)
    return Finding(
        f"{what}: {error}", f"mend its cause, then {connector_command('restart', connector.name)}; see {logs()}", FAILED
    )


def of_publication(connector: Connector, facts: Facts) -> Iterator[Finding]:
    source, register = facts.source, connector_command("register", connector.name)
    if isinstance(source, AlluviumError):
        return
    name = connector.capture.publication
    if source.publication is None:
        if facts.state is not None:
            yield Finding(f"the publication '{name}' is missing: the task cannot read the slot", register, FAILED)
        return
    missing = missing_tables(connector, source)
    if missing:
        yield Finding(
            f"the publication '{name}' lacks {', '.join(missing)}: their changes do not arrive",
            f"{register}, then read them again: {connector_command('snapshot', connector.name)} {' '.join(missing)}",
            FAILED,
        )
    unsent = sorted(set(OPERATIONS) - source.publication.operations)
    if unsent:
        yield Finding(f"the publication '{name}' does not send {', '.join(unsent)}", register, FAILED)
    if not source.publication.via_root:
        yield Finding(
            f"the publication '{name}' sends partitions as tables of their own (publish_via_partition_root)",
            register,
            FAILED,
        )


def of_tables(facts: Facts) -> Iterator[Finding]:
    if isinstance(facts.source, AlluviumError):
        return
    partitions = [table.name for table in facts.source.tables if table.is_partition]
    if partitions:
        yield Finding(
            f"a snapshot reads the partition {partitions[0]} as a table of its own",
            "let a pattern of capture.without match the partitions, and register again",
            WRONG,
        )
    for table in facts.source.tables:
        if table.identity == "nothing" or (not table.has_key and table.identity == "default"):
            yield Finding(
                f"{table.name} refuses updates and deletes: its replica identity names no row",
                f"ALTER TABLE {table.name} REPLICA IDENTITY FULL, or give it a primary key",
                FAILED,
            )


def of_heartbeat(connector: Connector, facts: Facts) -> Iterator[Finding]:
    if facts.state is None or not facts.state.running:
        return
    topic, age = heartbeat_topic(connector), facts.heartbeat_age
    if age is None:
        yield Finding(
            f"no heartbeat in {topic}",
            f"look again in a minute; else correct kafka.brokers ({connector.kafka.brokers}) in the connector file",
            LATER,
        )
    elif age > bound_seconds(connector):
        yield Finding(
            f"the last heartbeat in {topic} is {age:.0f} s old",
            f"{connector_command('restart', connector.name)}; see {logs()}",
            FAILED,
        )


def notes(connector: Connector, facts: Facts) -> Iterator[Finding]:
    if facts.state is not None and facts.state.connector in {"PAUSED", "STOPPED"}:
        yield Finding(
            f"the connector is {facts.state.connector}, and the server keeps its WAL meanwhile",
            connector_command("resume", connector.name),
            0,
            is_note=True,
        )
    if facts.differing:
        yield Finding(
            f"Connect has other settings than the file: {', '.join(facts.differing)}",
            connector_command("register", connector.name),
            0,
            is_note=True,
        )
    for table in () if isinstance(facts.source, AlluviumError) else facts.source.tables:
        if table.unmarked and table.identity != "full":
            yield Finding(
                f"{table.name} ({', '.join(table.unmarked)}): an untouched large array has no marker",
                f"ALTER TABLE {table.name} REPLICA IDENTITY FULL",
                0,
                is_note=True,
            )


def megabytes(count: int) -> str:
    return f"{count / 1024**2:,.1f} MiB"
