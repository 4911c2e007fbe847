"""Maintenance: what keeps a table healthy, beside a running stream."""

from collections.abc import Callable
from typing import Any

import click

from common.cli import job
from common.engine.start import resolve_inputs
from common.operations.compaction import Scope
from common.operations.maintenance import checkpoint_tables, compact_tables, purge_deleted_keys, vacuum_tables
from common.operations.retention import parse_hours
from common.operations.rewind import parse_duration
from common.settings.locations import Location, require_delta_table
from common.settings.remedies import tell
from common.settings.table_paths import chosen_table
from common.spark.session import start_session

MEBIBYTE = 1024 * 1024
APPLICATION = "Maintenance"
Command = Callable[..., Any]


def on_table(command: Command) -> Command:
    command = click.option("--pipeline", "name", help="A file of conf/pipelines that says where its table lies.")(
        command
    )
    return click.argument("delta_dir", required=False)(command)


def resolve_table(delta_dir: str | None, name: str | None) -> Location:
    table = chosen_table(delta_dir, name)
    tell(DELTA_DIR=str(table), **({} if name is None else {"PIPELINE": name}))
    require_delta_table(table)
    return table


@click.group(no_args_is_help=False)
def maintenance() -> None:
    """Keep a Delta table and its side tables (quarantine, late, deleted keys) healthy.

    A running stream is not stopped: both wait for each other's commits.
    """


@maintenance.command("compact")
@on_table
@click.option(
    "--target-mib", type=click.IntRange(min=1), default=128, show_default=True, help="The size of a full file."
)
@click.option(
    "--closed-after",
    default="1h",
    show_default=True,
    help="A partition is closed when no batch has written to it for so long: 30m, 12h, 2d.",
)
@click.option("--all", "include_open", is_flag=True, help="Open partitions too.")
@click.option("--execute", is_flag=True, help="Do it; without this only the plan is printed.")
def compact_command(
    *, delta_dir: str | None, name: str | None, target_mib: int, closed_after: str, include_open: bool, execute: bool
) -> None:
    """Rewrite the small files of DELTA_DIR into few, partition by partition.

    It rewrites only closed partitions that have fewer files afterwards. A liquid table is clustered as a whole.
    """
    seconds = int(parse_duration(closed_after).total_seconds())
    scope = Scope(target_mib * MEBIBYTE, None if include_open else seconds)
    table = resolve_table(delta_dir, name)
    compact_tables(start_session(APPLICATION), table, scope, execute=execute)


@maintenance.command("vacuum")
@on_table
@click.option("--retain", help="Keep what was removed in the last 36h, 7d; by default what the table's property says.")
@click.option(
    "--force",
    "forced",
    metavar="NAME",
    multiple=True,
    help="Insist: the name of the table's folder, to retain less than it says; a reader's name, not to wait for it.",
)
@click.option("--execute", is_flag=True, help="Do it; without this only the number of files and bytes is printed.")
def vacuum_command(
    *, delta_dir: str | None, name: str | None, retain: str | None, forced: tuple[str, ...], execute: bool
) -> None:
    """Delete the files of DELTA_DIR that no version within its retention needs.

    It is refused below delta.deletedFileRetentionDuration (7 days unless set), and while a registered reader of the
    change feed has not read what would be deleted.
    """
    hours = None if retain is None else parse_hours(retain)
    table = resolve_table(delta_dir, name)
    vacuum_tables(start_session(APPLICATION), table, hours, frozenset(forced), execute=execute)


@maintenance.command("checkpoint")
@on_table
def checkpoint_command(*, delta_dir: str | None, name: str | None) -> None:
    """Write a checkpoint of the log of DELTA_DIR now: the next reader opens one file instead of many."""
    table = resolve_table(delta_dir, name)
    checkpoint_tables(start_session(APPLICATION), table)


@maintenance.command("purge")
@click.argument("delta_dir")
@click.argument("brokers")
@click.argument("topic_name", metavar="TOPIC")
@click.option("--pipeline", "name", default="temperatures", show_default=True, help="A file of conf/pipelines.")
@click.option("--execute", is_flag=True, help="Do it; without this only their number is printed.")
def purge_command(*, delta_dir: str, brokers: str, topic_name: str, name: str, execute: bool) -> None:
    """Forget deletes of DELTA_DIR that nothing can contradict any more.

    A delete is remembered for as long as TOPIC keeps its records, or for the pipeline's late bound if that is longer,
    and for as long as a record that was read no later than it is in quarantine.
    """
    given = resolve_inputs(name, delta_dir, brokers, topic_name)
    purge_deleted_keys(start_session(APPLICATION), given, execute=execute)


main = job("maintenance")(maintenance)

if __name__ == "__main__":
    main()
