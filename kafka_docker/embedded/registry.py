"""The schema registry: Apicurio, spoken to by Confluent's API."""

from collections.abc import Mapping
from pathlib import Path

from common import rest
from kafka_docker.embedded import artifacts, java, settings
from kafka_docker.embedded.errors import StartFailed
from kafka_docker.embedded.process import Command
from kafka_docker.embedded.service import Service
from kafka_docker.embedded.settings import RegistryDefinition, Value


class Registry(Service[RegistryDefinition]):
    """A registry that keeps its schemas: a message in Kafka carries only the id of one."""

    def __init__(self, home: Path, port: int | None = None, ports: Mapping[str, int] | None = None) -> None:
        super().__init__(settings.definition(RegistryDefinition, "registry"), home, port, ports)

    @property
    def url(self) -> str:
        """What a schema registry client is given."""
        return f"http://{self.address}{self.definition.api}"

    def prepare(self) -> list[Command]:
        (archive,) = artifacts.jar_paths(self.definition.jars)
        (runner,) = artifacts.unpacked(archive).glob("*-runner.jar")
        return [Command(argv=[*java.jvm(self.definition.heap, self._properties()), "-jar", str(runner)])]

    def answers(self) -> bool:
        return rest.request(self.address, "GET", f"{self.definition.api}/subjects").status == 200

    def settle(self) -> None:
        """Apicurio begins with NONE: any schema would be accepted."""
        wanted = {"compatibility": self.definition.settings["compatibility"]}
        if rest.request(self.address, "PUT", f"{self.definition.api}/config", wanted).status != 200:
            raise StartFailed(
                f"{self.name} refused compatibility {wanted['compatibility']}", f"see {self.processes[0].log}"
            )

    def _properties(self) -> dict[str, Value]:
        levels = self.definition.log_levels
        categories = {f'quarkus.log.category."{name}".level': level for name, level in levels.items() if name != "root"}
        own: dict[str, Value] = {
            "quarkus.http.host": settings.host(),
            "quarkus.http.port": self.port,
            "quarkus.log.level": levels["root"],
            "quarkus.http.access-log.enabled": False,
            "apicurio.storage.kind": "sql",
            "apicurio.storage.sql.kind": "h2",
            "apicurio.datasource.url": f"jdbc:h2:file:{self.folder / 'data' / 'registry'}",
        }
        return own | categories
