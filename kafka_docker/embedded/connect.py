"""Kafka Connect, distributed, with the Debezium plugin."""

from collections.abc import Mapping
from pathlib import Path

from common import rest
from common.settings.remedies import services
from kafka_docker.embedded import artifacts, broker, java, settings
from kafka_docker.embedded.errors import NotRunning
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.process import Command
from kafka_docker.embedded.service import Progress, Service, silently
from kafka_docker.embedded.settings import ConnectDefinition, Value

MAIN_CLASS = "org.apache.kafka.connect.cli.ConnectDistributed"


class Connect(Service[ConnectDefinition]):
    """Connect beside the broker of the same home, or at `brokers`."""

    def __init__(
        self,
        home: Path,
        port: int | None = None,
        ports: Mapping[str, int] | None = None,
        brokers: str | None = None,
    ) -> None:
        super().__init__(settings.definition(ConnectDefinition, "connect"), home, port, ports)
        self.brokers = brokers or Kafka(home).address

    def start(self, progress: Progress = silently) -> bool:
        if not self.running and not broker.answers(self.brokers):
            raise NotRunning(
                f"connect needs kafka, and no broker answers at {self.brokers}",
                f"start it first: {services('start', 'kafka')}",
            )
        return super().start(progress)

    def prepare(self) -> list[Command]:
        properties = java.write_properties(self.folder / "connect.properties", self._properties())
        logging = java.write_log4j2(self.folder / "log4j2.properties", self.definition.log_levels)
        run = java.jvm(self.definition.heap, {"log4j2.configurationFile": str(logging)})
        run += java.classpath(artifacts.jar_paths(self.definition.jars))
        return [Command(argv=[*run, MAIN_CLASS, str(properties)])]

    def answers(self) -> bool:
        # Connect answers 404 for a while after its port opens.
        return rest.request(self.address, "GET", "/connectors").status == 200

    def _properties(self) -> dict[str, Value]:
        plugins = [artifacts.unpacked(archive) for archive in artifacts.jar_paths(self.definition.plugins)]
        return self.definition.settings | {
            "bootstrap.servers": self.brokers,
            "listeners": f"http://{self.address}",
            "rest.advertised.host.name": settings.host(),
            "rest.advertised.port": self.port,
            "plugin.path": ",".join(str(plugin) for plugin in plugins),
            # A connector names a password by its file, ${directory:FOLDER:password}: its configuration is no secret to
            # anybody who can reach this port.
            "config.providers": "directory",
            "config.providers.directory.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
            "config.providers.directory.param.allowed.paths": str(self.home),
            # The other ways scan every class of every jar, which alone takes several seconds.
            "plugin.discovery": "service_load",
        }
