"""Rewind: read a topic again from an earlier place, or skip to a later one."""

import click

from common.cli import job
from common.delta.lock import job_lock
from common.engine.start import resolve_inputs
from common.operations.rewind import act_on_proposal, rewind_choice
from common.spark.session import start_session


@job("rewind")
@click.command()
@click.argument("delta_dir")
@click.argument("brokers")
@click.argument("topic_name", metavar="TOPIC")
@click.option("--to-time", help="The first records at or after this time: 2023-01-31 or 2023-01-31T12:00 (UTC).")
@click.option("--to-offset", help="Exactly these: 0=15,1=20. A partition that is not named stays where it is.")
@click.option("--by", help="Back by a duration, counted from now by the records' timestamps: 90s, 30m, 12h, 7d.")
@click.option("--to-beginning", is_flag=True, help="Everything that the topic still has.")
@click.option("--pipeline", "name", default="temperatures", show_default=True, help="A file of conf/pipelines.")
@click.option("--execute", is_flag=True, help="Do it; without this only the plan is printed.")
def main(
    *,
    delta_dir: str,
    brokers: str,
    topic_name: str,
    to_time: str | None,
    to_offset: str | None,
    by: str | None,
    to_beginning: bool,
    name: str,
    execute: bool,
) -> None:
    """Move the position of the table DELTA_DIR in TOPIC; the next run reads on from there, under a new epoch."""
    choice = rewind_choice(to_time=to_time, to_offset=to_offset, by=by, to_beginning=to_beginning)
    given = resolve_inputs(name, delta_dir, brokers, topic_name)
    with job_lock(given.table):
        act_on_proposal(start_session("Rewind"), given, choice, execute=execute)


if __name__ == "__main__":
    main()
