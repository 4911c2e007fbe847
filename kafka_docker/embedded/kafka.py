"""A Kafka broker that is its own controller: KRaft, one process."""

import base64
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from kafka_docker.embedded import artifacts, broker, java, log_files, settings
from kafka_docker.embedded.errors import StartFailed
from kafka_docker.embedded.process import Command
from kafka_docker.embedded.service import Service
from kafka_docker.embedded.settings import JvmDefinition, Value

NODE = 1


class Kafka(Service[JvmDefinition]):
    """The broker of one home."""

    def __init__(
        self,
        home: Path,
        port: int | None = None,
        ports: Mapping[str, int] | None = None,
        *,
        listeners: Mapping[str, int] | None = None,
        properties: Mapping[str, Value] | None = None,
    ) -> None:
        """Take further `listeners`, by protocol and port, and `properties` that replace those of services.toml."""
        super().__init__(settings.definition(JvmDefinition, "kafka"), home, port, ports)
        self._listeners = dict(listeners or {})
        self._further = dict(properties or {})

    def address_of(self, listener: str) -> str:
        return f"{settings.host()}:{self._listeners[listener]}"

    def prepare(self) -> list[Command]:
        properties = java.write_properties(self.folder / "server.properties", self._properties())
        logging = java.write_log4j2(self.folder / "log4j2.properties", self.definition.log_levels)
        run = java.jvm(self.definition.heap, {"log4j2.configurationFile": str(logging)})
        run += java.classpath(artifacts.jar_paths(self.definition.jars))
        if not (self._data / "meta.properties").exists():
            self._format([*run, "kafka.tools.StorageTool"], properties)
        return [Command(argv=[*run, "kafka.Kafka", str(properties)])]

    def answers(self) -> bool:
        return broker.answers(self.address)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _properties(self) -> dict[str, Value]:
        controller = f"{settings.host()}:{self.ports['controller']}"
        clients = [f"PLAINTEXT://{self.address}", *(f"{name}://{self.address_of(name)}" for name in self._listeners)]
        own: dict[str, Value] = {
            "process.roles": "broker,controller",
            "node.id": NODE,
            "controller.quorum.voters": f"{NODE}@{controller}",
            "listeners": ",".join([*clients, f"CONTROLLER://{controller}"]),
            "advertised.listeners": ",".join(clients),
            "listener.security.protocol.map": ",".join(
                ["CONTROLLER:PLAINTEXT", "PLAINTEXT:PLAINTEXT", *(f"{name}:{name}" for name in self._listeners)]
            ),
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self._data),
            # After a crash the broker is let in again only when the lease of its former self has ended: 9 s by default.
            "broker.session.timeout.ms": 3000,
            "broker.heartbeat.interval.ms": 1000,
        }
        return self.definition.settings | own | self._further

    def _format(self, storage_tool: list[str], properties: Path) -> None:
        log = self.folder / "format.log"
        command = [*storage_tool, "format", "--cluster-id", _cluster_id(), "--config", str(properties)]
        with log.open("wb") as output:
            done = subprocess.run(command, stdout=output, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise StartFailed(f"{self.name} cannot format its storage: {log_files.telling_line(log)}", f"see {log}")


def _cluster_id() -> str:
    """Make an id like StorageTool's random-uuid, without starting Java for it."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A")
