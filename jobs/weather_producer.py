"""Send a file of weather readings to Kafka, keyed by place and hour."""

from pathlib import Path

import click

from common.cli import job
from common.kafka.topic import TopicClient
from common.produce.delivery import Delivery, new_producer
from common.produce.pace import Pace, check_rate
from common.produce.progress import progress
from common.produce.records import read_weather
from common.settings.brokers import bootstrap
from common.settings.kafka_security import OPEN, access
from common.settings.load import read_pipeline

PATIENCE_SECONDS = 8.0


@job("weather_producer")
@click.command()
@click.argument("weather_json", type=click.Path(path_type=Path))
@click.argument("location_master_json", type=click.Path(path_type=Path))
@click.option(
    "--brokers", default="localhost", show_default=True, metavar="HOST[:PORT]", help="A bare host means 9092."
)
@click.option("--topic", default="temperatures", show_default=True)
@click.option("--pipeline", "name", metavar="NAME", help="Use the credentials of this file of conf/pipelines.")
@click.option("--rate", type=float, metavar="N", help="Records a second; without it, as fast as the broker takes them.")
@click.option("--limit", type=int, metavar="N", help="Only the first N records.")
@click.option("--dry-run", is_flag=True, help="Check the files and say what would be sent.")
def main(
    weather_json: Path,
    location_master_json: Path,
    *,
    brokers: str,
    topic: str,
    name: str | None,
    rate: float | None,
    limit: int | None,
    dry_run: bool,
) -> None:
    """Join WEATHER_JSON with LOCATION_MASTER_JSON and send each reading to Kafka."""
    address = bootstrap(brokers)
    check_rate(rate)
    weather = read_weather(weather_json, location_master_json).limited_to(limit)
    what = f"{weather.count} records to {topic} on {address}"
    if dry_run:
        click.echo(f"Would send {what}, the first: {next(weather.records()).value.decode()}")
        return
    allowed = OPEN if name is None else access(read_pipeline(name).source.kafka)
    TopicClient(address, topic, access=allowed, timeout_seconds=PATIENCE_SECONDS).describe()
    producer = new_producer(address, allowed)
    with progress(weather.count) as report:
        Delivery(producer, topic).send(weather.records(), Pace(rate, producer.poll), report)
    click.echo(f"Sent {what}")


if __name__ == "__main__":
    main()
