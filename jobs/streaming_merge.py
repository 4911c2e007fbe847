"""StreamingMerge: merge events of a Kafka topic into a Delta table, by the batch loop or by the stream."""

import click

from common.cli import job
from common.delta.lock import job_lock
from common.drivers.batch_loop import BatchLoop, IdlePolicy
from common.drivers.stream import Stream, Trigger
from common.drivers.warm_up import warm_up
from common.engine.start import resolve_inputs, start_from_table
from common.present.console import print_plan
from common.spark.session import start_session


@job("streaming_merge")
@click.command()
@click.argument("delta_dir")
@click.argument("brokers")
@click.argument("topic_name", metavar="TOPIC")
@click.option(
    "--mode", type=click.Choice(["batch", "stream"]), required=True, help="The batch-offset loop, or readStream."
)
@click.option("--pipeline", "name", default="temperatures", show_default=True, help="A file of conf/pipelines.")
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
    topic_name: str,
    mode: str,
    name: str,
    once: bool,
    wait: float,
    give_up: float,
    trigger: str,
    check_pruning: bool,
    dry_run: bool,
) -> None:
    """Merge the events of TOPIC on BROKERS into the Delta table DELTA_DIR. A bare host means port 9092."""
    given = resolve_inputs(name, delta_dir, brokers, topic_name, check_pruning=check_pruning)
    spark_trigger = Trigger.parse(trigger)
    with job_lock(given.table):
        print("Reading the delta table from disk...")
        spark = start_session("StreamingMerge")
        start = start_from_table(spark, given)
        print(f"Reading the messages from KAFKA topic {given.topic.brokers}")
        if dry_run:
            print_plan(start)
        elif mode == "stream":
            if not spark_trigger.ends_by_itself:
                warm_up(spark, start)
            Stream(spark, start).follow(spark_trigger)
        elif once:
            BatchLoop(spark, start).drain()
        else:
            warm_up(spark, start)
            BatchLoop(spark, start).follow(IdlePolicy(wait, give_up))


if __name__ == "__main__":
    main()
