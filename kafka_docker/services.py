"""Start, stop and look at the services a pipeline needs, embedded: no Docker. Ports and settings: services.toml."""

from typing import Any

import click

from common.errors import AlluviumError
from kafka_docker.embedded import broker, catalog, log_files, settings
from kafka_docker.embedded.kafka import Kafka

NAME = click.Choice(catalog.names())


class Commands(click.Group):
    """Commands whose expected failures are one line on stderr and the error's own exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except AlluviumError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(error.exit_code)


@click.group(cls=Commands, help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
def cli() -> None:
    pass


def say(line: str) -> None:
    click.echo(line, err=True)


@cli.command()
@click.argument("names", metavar="NAME...", nargs=-1, required=True, type=NAME)
@click.option("--port", type=click.IntRange(1, 65535), help="Another port than usual, for one service.")
def start(names: tuple[str, ...], port: int | None) -> None:
    """Start services and wait until they answer."""
    if port is not None and len(set(names)) > 1:
        raise click.UsageError("--port is for one service; several have ALLUVIUM_NAME_PORT")
    for name in catalog.in_order(names):
        service = catalog.service(name, settings.services_dir(), port)
        if not service.start(say):
            say(f"{name}: already running at {service.address}")


@cli.command()
@click.argument("names", metavar="[NAME...]", nargs=-1, type=NAME)
@click.option("--delete-data", is_flag=True, help="Delete what they have stored, too.")
def stop(names: tuple[str, ...], *, delete_data: bool) -> None:
    """Stop services, all by default; never a process that we did not start."""
    for name in reversed(catalog.in_order(names or catalog.names())):
        service = catalog.service(name, settings.services_dir())
        stopped = service.stop()
        if delete_data:
            service.remove()
        if stopped or names:
            say(f"{name}: stopped" if stopped else f"{name}: was not running")


@cli.command()
def status() -> None:
    """Say for every service whether it runs, and where."""
    for name in catalog.names():
        service = catalog.service(name, settings.services_dir())
        pids = ",".join(str(process.pid) for process in service.processes if process.pid)
        click.echo(f"{name:<16} {_state(service):<14} {service.address:<18} {pids}".rstrip())


def _state(service: catalog.AnyService) -> str:
    if not service.running:
        return "stopped"
    return "running" if service.answers() else "not answering"


@cli.command()
@click.argument("name", metavar="NAME", type=NAME)
@click.option("--follow", "-f", is_flag=True, help="Go on with new lines until interrupted.")
@click.option("--lines", "-n", type=click.IntRange(0), default=50, show_default=True)
def logs(name: str, *, follow: bool, lines: int) -> None:
    """Print the end of a service's log."""
    service = catalog.service(name, settings.services_dir())
    files = [process.log for process in service.processes if process.log.exists()]
    if follow or not files:
        service.require_running()
    if not service.running:
        say(f"{name} is not running; this is the log of its last run")
    for file in files:
        if len(files) > 1:
            say(f"==> {file.name}")
        for line in log_files.last_lines(file, lines):
            click.echo(line)
    if follow:
        for line in log_files.follow(files):
            click.echo(line)


@cli.command("create-topic")
@click.argument("topic")
@click.option("--partitions", type=click.IntRange(1), help="The broker's num.partitions by default.")
@click.option("--config", "config", multiple=True, metavar="KEY=VALUE", help="A setting of the topic; may be repeated.")
@click.option("--if-not-exists", is_flag=True, help="An existing topic is no error.")
def create_topic(topic: str, partitions: int | None, config: tuple[str, ...], *, if_not_exists: bool) -> None:
    """Create a topic on the embedded broker."""
    settings_of_topic = dict(_pair(each) for each in config)
    created = broker.create_topic(
        _broker(), topic, partitions=partitions, config=settings_of_topic, if_not_exists=if_not_exists
    )
    say(f"{topic}: created" if created else f"{topic}: exists already")


@cli.command("delete-topic")
@click.argument("topic")
def delete_topic(topic: str) -> None:
    """Delete a topic on the embedded broker."""
    broker.delete_topic(_broker(), topic)
    say(f"{topic}: deleted")


@cli.command("list-topics")
def list_topics() -> None:
    """Print the topics of the embedded broker and their numbers of partitions; without its own (__…)."""
    for topic, partitions in broker.topics(_broker()).items():
        click.echo(f"{topic}\t{partitions}")


def _broker() -> str:
    kafka = Kafka(settings.services_dir())
    kafka.require_running()
    return kafka.address


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"'{text}' is not KEY=VALUE", param_hint="--config")
    return key, value


if __name__ == "__main__":
    cli(prog_name="services")
