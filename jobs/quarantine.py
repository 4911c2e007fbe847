"""Quarantine: see the records that were turned away, replay those that are valid now, discard the rest."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import click

from common.cli import job
from common.delta.lock import job_lock
from common.delta.side_tables import WAITING
from common.operations import quarantine
from common.present.quarantine import print_records, print_summary
from common.spark.session import start_session

Command = Callable[..., Any]
APPLICATION = "Quarantine"


def on_table(command: Command) -> Command:
    command = click.option(
        "--pipeline", "name", default="temperatures", show_default=True, help="A file of conf/pipelines."
    )(command)
    return click.argument("delta_dir")(command)


def selecting(state: str | None) -> Callable[[Command], Command]:
    """Add the same filters to a command. `state` is the default of --state."""

    def decorate(command: Command) -> Command:
        for option in (
            click.option("--state", default=state, show_default=state is not None, help="Only rows in this state."),
            click.option("--offset", help="Only this offset, or a range with both ends: 15-20."),
            click.option("--partition", type=click.IntRange(min=0), help="Only rows of this partition."),
            click.option("--reason", help="Only rows that were turned away for this reason."),
        ):
            command = option(command)
        return command

    return decorate


@click.group(no_args_is_help=False)
def main() -> None:
    """List, show, replay or discard the records that were turned away from a table."""


@main.command("list")
@on_table
def list_rows(*, delta_dir: str, name: str) -> None:
    """Count the quarantined rows of DELTA_DIR by reason and state."""
    place = quarantine.resolve_place(name, delta_dir)
    if not quarantine.has_quarantine(place):
        click.echo(quarantine.never_quarantined(place))
        return
    print_summary(quarantine.open_quarantine(start_session(APPLICATION), place), place.table)


@main.command()
@on_table
@selecting(state=None)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many rows.")
@click.option("--full", is_flag=True, help="Whole messages, keys and values, however long.")
def show(
    *,
    delta_dir: str,
    name: str,
    reason: str | None,
    partition: int | None,
    offset: str | None,
    state: str | None,
    limit: int,
    full: bool,
) -> None:
    """Print quarantined rows of DELTA_DIR with their bytes."""
    place = quarantine.resolve_place(name, delta_dir)
    selection = quarantine.selection_of(reason, partition, offset, state)
    quarantine.require_quarantine(place)
    opened = quarantine.open_quarantine(start_session(APPLICATION), place)
    print_records(*quarantine.selected_rows(opened, selection), limit, full=full)


@main.command()
@on_table
@selecting(state=WAITING)
@click.option("--overwrite", is_flag=True, help="Also replace rows of which nobody knows whether they are newer.")
@click.option("--execute", is_flag=True, help="Do it; without this only the plan is printed.")
def replay(
    *,
    delta_dir: str,
    name: str,
    reason: str | None,
    partition: int | None,
    offset: str | None,
    state: str | None,
    overwrite: bool,
    execute: bool,
) -> None:
    """Merge into DELTA_DIR the records that are valid by today's rules.

    A record that is older than the table's row of its key, or than a delete of it, is not merged. Stop a job that
    merges into the table before: this command needs the table for itself.
    """
    place = quarantine.resolve_place(name, delta_dir)
    selection = quarantine.selection_of(reason, partition, offset, state)
    quarantine.require_quarantine(place)
    with job_lock(place.table) if execute else nullcontext():
        quarantine.replay(start_session(APPLICATION), place, selection, overwrite=overwrite, execute=execute)


@main.command()
@on_table
@selecting(state=WAITING)
@click.option("--execute", is_flag=True, help="Do it; without this only their number is printed.")
def discard(
    *,
    delta_dir: str,
    name: str,
    reason: str | None,
    partition: int | None,
    offset: str | None,
    state: str | None,
    execute: bool,
) -> None:
    """Mark rows as discarded: nobody waits for them any more, and their bytes stay."""
    place = quarantine.resolve_place(name, delta_dir)
    selection = quarantine.selection_of(reason, partition, offset, state)
    quarantine.require_quarantine(place)
    with job_lock(place.table) if execute else nullcontext():
        quarantine.discard(start_session(APPLICATION), place, selection, execute=execute)


if __name__ == "__main__":
    job("quarantine")(main)()
