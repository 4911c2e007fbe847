"""Epoch: say where to go on, to adopt a table, accept a loss, follow a recreated topic, or after a RESTORE."""

import click

from common.cli import job
from common.drivers.operator import act_on_proposal, at_choice
from common.drivers.start import resolve_inputs
from common.ledger.lock import job_lock
from common.session import start_session


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
@click.option("--execute", is_flag=True, help="Do it; without this only the plan is printed.")
def main(*, delta_dir: str, brokers: str, topic_name: str, at: str, name: str, execute: bool) -> None:
    """Begin a new epoch of the table DELTA_DIR on TOPIC."""
    given = resolve_inputs(name, delta_dir, brokers, topic_name)
    with job_lock(given.table):
        act_on_proposal(start_session("Epoch"), given, at_choice(at), execute=execute)


if __name__ == "__main__":
    main()
