"""Epoch: begin a new epoch, to adopt a table, accept a loss, follow a recreated topic, or go on after a RESTORE."""

import click

from common.cli import job
from common.delta.lock import job_lock
from common.engine.start import resolve_inputs
from common.operations.rewind import act_on_epoch
from common.spark.session import start_session


@job("epoch")
@click.command()
@click.argument("delta_dir")
@click.argument("brokers")
@click.argument("topic_name", metavar="TOPIC")
@click.option(
    "--at",
    type=click.Choice(["table", "beginning", "end"]),
    default="table",
    show_default=True,
    help="Where the table's rows end (skipping what the topic has lost), or the topic's beginning or end.",
)
@click.option("--pipeline", "name", default="temperatures", show_default=True, help="A file of conf/pipelines.")
@click.option(
    "--adopt",
    is_flag=True,
    help="Share a table that other pipelines write. Each keeps a position of its own, and rows beside the table say "
    "whose they are; pipelines with a key in common overwrite each other's rows.",
)
@click.option("--execute", is_flag=True, help="Do it; without this only the plan is printed.")
def main(*, delta_dir: str, brokers: str, topic_name: str, at: str, name: str, adopt: bool, execute: bool) -> None:
    """Begin a new epoch of the table DELTA_DIR on TOPIC.

    The table's columns must fit the pipeline. A table without any pipeline's position is adopted; one that other
    pipelines write needs --adopt.
    """
    given = resolve_inputs(name, delta_dir, brokers, topic_name)
    with job_lock(given.table):
        act_on_epoch(start_session("Epoch"), given, at, adopt=adopt, execute=execute)


if __name__ == "__main__":
    main()
