"""Register, watch and end connectors: what Kafka Connect captures from a database."""

import sys
from collections.abc import Callable
from typing import Any

import click

from common.cli import job
from common.connect import registration
from common.connect.status import status as ask_status
from common.connect.worker import Worker
from common.present.connectors import plan_lines, state_text, status_json, status_lines
from common.settings.connector import Connector
from common.settings.load_connector import read_connector

Command = Callable[..., Any]
WAIT_SECONDS = 60.0


def waiting(command: Command) -> Command:
    return click.option(
        "--wait",
        "seconds",
        type=click.FloatRange(min=0, min_open=True),
        default=WAIT_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="How long the connector may take until it runs.",
    )(command)


@click.group(no_args_is_help=False)
def main() -> None:
    """The connectors of conf/connectors: register, status, restart, pause, resume, snapshot, delete."""


@main.command()
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Print what would be done and sent; secrets are masked.")
@waiting
def register(name: str, *, dry_run: bool, seconds: float) -> None:
    """Prepare the source database and register NAME with Kafka Connect; again, after a change of its file."""
    connector = read_connector(name)
    if dry_run:
        click.echo("\n".join(plan_lines(registration.plan(connector))))
        return
    state = registration.register(connector, seconds)
    click.echo(f"{name}: {state_text(state)}, slot {connector.capture.slot}, topics {connector.capture.topic_prefix}.*")


@main.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="For a machine.")
def status(name: str, *, as_json: bool) -> None:
    """Say how NAME is: its tasks, its slot, its publication, its heartbeat; and what is wrong, with the remedy."""
    found = ask_status(read_connector(name))
    click.echo(status_json(found) if as_json else "\n".join(status_lines(found)))
    sys.exit(found.exit_code)


@main.command()
@click.argument("name")
@waiting
def restart(name: str, *, seconds: float) -> None:
    """Restart NAME and its tasks."""
    connector, worker = registered(name)
    worker.restart(name)
    click.echo(f"{name}: {state_text(registration.await_outcome(worker, connector, seconds))}")


@main.command()
@click.argument("name")
def pause(name: str) -> None:
    """Pause NAME. The database keeps its WAL until NAME goes on."""
    _, worker = registered(name)
    worker.pause(name)
    click.echo(f"{name}: paused")


@main.command()
@click.argument("name")
@waiting
def resume(name: str, *, seconds: float) -> None:
    """Let NAME go on after a pause."""
    connector, worker = registered(name)
    worker.resume(name)
    click.echo(f"{name}: {state_text(registration.await_outcome(worker, connector, seconds))}")


@main.command()
@click.argument("name")
@click.argument("tables", metavar="SCHEMA.TABLE...", nargs=-1, required=True)
def snapshot(name: str, tables: tuple[str, ...]) -> None:
    """Let NAME read tables again while it goes on (an incremental snapshot)."""
    connector = read_connector(name)
    identity = registration.request_snapshot(connector, tables)
    click.echo(f"{name}: snapshot {identity} of {', '.join(tables)} is requested")


@main.command()
@click.argument("name")
@click.option("--forget", is_flag=True, help="Also drop its slot, its publication and its position.")
@click.option("--dry-run", is_flag=True, help="Say what would be deleted.")
def delete(name: str, *, forget: bool, dry_run: bool) -> None:
    """Delete NAME from Kafka Connect. Topics stay.

    Without --forget the slot stays, too: registered again, NAME goes on where it ended, and until then the database
    keeps its WAL.
    """
    connector = read_connector(name)
    capture = connector.capture
    what = f"the connector {name}"
    if forget:
        what += f", its position, the slot {capture.slot} and the publication {capture.publication}"
    if dry_run:
        click.echo(f"Would delete {what}")
        return
    registration.delete(connector, forget=forget)
    click.echo(f"Deleted {what}")


def registered(name: str) -> tuple[Connector, Worker]:
    connector = read_connector(name)
    worker = Worker(connector.connect.url)
    registration.require_registered(worker, connector)
    return connector, worker


if __name__ == "__main__":
    job("connector")(main)()
