"""Send test events to Kafka: ratings of movies in Avro, with all that happens to them on their way."""

import time

import click

from common.cli import job
from common.kafka.topic import TopicClient
from common.produce.delivery import Delivery, new_producer
from common.produce.pace import Pace, check_rate
from common.produce.progress import progress
from common.produce.ratings import serializers, to_records
from common.settings.brokers import bootstrap
from common.settings.environment import registry_url
from datasets.ratings.events import events
from datasets.ratings.schemas import VERSIONS, schema

PATIENCE_SECONDS = 8.0
REGISTRY = "http://127.0.0.1:8085/apis/ccompat/v7"


@job("ratings_producer")
@click.command()
@click.option(
    "--brokers", default="localhost", show_default=True, metavar="HOST[:PORT]", help="A bare host means 9092."
)
@click.option("--registry", metavar="URL", help=f"By default ALLUVIUM_REGISTRY_URL, or {REGISTRY}.")
@click.option("--topic", default="ratings", show_default=True)
@click.option("--seed", type=int, default=2, show_default=True, help="With the same --at, the same events.")
@click.option(
    "--at", type=int, metavar="SECONDS", help="Rated in the days before this time since 1970; now by default."
)
@click.option("--count", type=click.IntRange(min=1), default=10_000, show_default=True, help="So many events.")
@click.option("--rate", type=float, metavar="N", help="Events a second; without it, as fast as the broker takes them.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent.")
def main(
    *,
    brokers: str,
    registry: str | None,
    topic: str,
    seed: int,
    at: int | None,
    count: int,
    rate: float | None,
    dry_run: bool,
) -> None:
    """Send ratings by five versions of their schema: new, updated, duplicate, late, and some with broken bytes."""
    address = bootstrap(brokers)
    check_rate(rate)
    drawn = events(seed, count, int(time.time()) if at is None else at)
    what = f"{count} events to {topic} on {address}"
    if dry_run:
        click.echo(f"Would send {what}, the first: {next(drawn).fields()}")
        return
    TopicClient(address, topic, timeout_seconds=PATIENCE_SECONDS).describe()
    schemas = {version: schema(version) for version in VERSIONS}
    serialize = serializers(registry or registry_url() or REGISTRY, topic, schemas, PATIENCE_SECONDS)
    producer = new_producer(address)
    with progress(count) as report:
        Delivery(producer, topic).send(to_records(drawn, serialize), Pace(rate, producer.poll), report)
    click.echo(f"Sent {what}")


if __name__ == "__main__":
    main()
