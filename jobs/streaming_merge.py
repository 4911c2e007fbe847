"""StreamingMerge: merge events of a Kafka topic into a Delta table, by the batch loop or by the stream."""

from contextlib import ExitStack

import click

from common.cli import job
from common.delta.lock import job_lock
from common.drivers.batch_loop import BatchLoop, IdlePolicy
from common.drivers.stream import Stream, Trigger
from common.drivers.warm_up import warm_up
from common.engine.start import resolve_further, resolve_inputs, start_from_table
from common.present.console import print_plan
from common.spark.session import start_session


@job("streaming_merge")
@click.command()
@click.argument("delta_dir")
@click.argument("brokers")
@click.argument("topics", metavar="TOPIC")
@click.option(
    "--mode", type=click.Choice(["batch", "stream"]), required=True, help="The batch-offset loop, or readStream."
)
@click.option("--pipeline", "name", default="temperatures", show_default=True, help="A file of conf/pipelines.")
@click.option(
    "--also",
    type=(str, str),
    multiple=True,
    metavar="PIPELINE DELTA_DIR",
    help="A further table for the same records, by its own pipeline; as often as needed.",
)
@click.option("--once", is_flag=True, help="batch: settle what the topic holds now, then stop. The form for cron.")
@click.option("--wait", type=click.FloatRange(min=0.1), default=60, show_default=True, help="batch: seconds a wait.")
@click.option(
    "--give-up",
    type=click.FloatRange(min=0),
    default=180,
    show_default=True,
    help="Batch mode: stop after this many seconds without new records.",
)
@click.option("--trigger", default="available-now", show_default=True, help="stream: available-now, or '10 seconds'.")
@click.option(
    "--check-pruning", is_flag=True, help="Prove for each batch that what it left unread has none of its keys."
)
@click.option("--dry-run", is_flag=True, help="Print the plan of the next batch, settle nothing.")
def main(
    *,
    delta_dir: str,
    brokers: str,
    topics: str,
    mode: str,
    name: str,
    also: tuple[tuple[str, str], ...],
    once: bool,
    wait: float,
    give_up: float,
    trigger: str,
    check_pruning: bool,
    dry_run: bool,
) -> None:
    """Merge the events of TOPIC on BROKERS into the Delta table DELTA_DIR.

    A bare host means port 9092. Several topics are joined by commas.
    """
    first = resolve_inputs(name, delta_dir, brokers, topics, check_pruning=check_pruning)
    targets = resolve_further(first, also)
    spark_trigger = Trigger.parse(trigger)
    with ExitStack() as locks:
        for target in targets:
            locks.enter_context(job_lock(target.table))
        print("Reading the delta table from disk...")
        spark = start_session("StreamingMerge")
        starts = [start_from_table(spark, target) for target in targets]
        print(f"Reading the messages from KAFKA topic {first.topic.brokers}")
        if dry_run:
            print_plan(starts)
        elif mode == "stream":
            if not spark_trigger.ends_by_itself:
                warm_up(spark, starts[0])
            Stream(spark, *starts).follow(spark_trigger)
        elif once:
            BatchLoop(spark, *starts).drain()
        else:
            warm_up(spark, starts[0])
            BatchLoop(spark, *starts).follow(IdlePolicy(wait, give_up))


if __name__ == "__main__":
    main()
