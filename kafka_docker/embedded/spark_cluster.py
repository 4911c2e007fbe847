"""A Spark standalone cluster, a master and its workers, from the pyspark package."""

import importlib.util
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from common import rest
from kafka_docker.embedded import java, settings
from kafka_docker.embedded.errors import ArtifactsMissing
from kafka_docker.embedded.process import Command, Process
from kafka_docker.embedded.service import Service
from kafka_docker.embedded.settings import SparkDefinition

UI = "ui"
MASTER = "master"


def spark_home() -> Path:
    """Found without importing pyspark, which would slow down every command about any service."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise ArtifactsMissing("the pyspark package is not installed", "run ./build.sh")
    return Path(found.origin).parent


class SparkCluster(Service[SparkDefinition]):
    """Who submits to it needs the secret: without one, anybody on the machine could run code as us."""

    def __init__(self, home: Path, port: int | None = None, ports: Mapping[str, int] | None = None) -> None:
        super().__init__(settings.definition(SparkDefinition, "spark"), home, port, ports)

    @property
    def url(self) -> str:
        """What spark-submit's --master is given."""
        return f"spark://{self.address}"

    @property
    def secret_file(self) -> Path:
        return self.folder / "secret"

    def process_names(self) -> list[str]:
        return [MASTER, *self._workers()]

    def prepare(self) -> list[Command]:
        self._write_configuration()
        return [self._master(), *(self._worker(name) for name in self._workers())]

    def admits_next(self, process: Process) -> bool:
        """A worker that finds no master tries again only after some ten seconds."""
        return process.name != MASTER or self._alive_workers() is not None

    def answers(self) -> bool:
        return self._alive_workers() == len(self._workers())

    def _alive_workers(self) -> int | None:
        """None while the master does not answer, or is not yet the leader."""
        said = rest.request(f"{settings.host()}:{self.ports[UI]}", "GET", "/json/").body
        return int(said["aliveworkers"]) if isinstance(said, dict) and said["status"] == "ALIVE" else None

    def _workers(self) -> list[str]:
        return [name for name in self.definition.ports if name != UI]

    def _master(self) -> Command:
        arguments = ["--host", settings.host(), "--port", str(self.port), "--webui-port", str(self.ports[UI])]
        return self._command("org.apache.spark.deploy.master.Master", arguments)

    def _worker(self, name: str) -> Command:
        arguments = [
            "--host",
            settings.host(),
            "--webui-port",
            str(self.ports[name]),
            "--work-dir",
            str(self.folder / name),
        ]
        offer = ["--cores", str(self.definition.worker_cores), "--memory", self.definition.worker_memory]
        return self._command("org.apache.spark.deploy.worker.Worker", [*arguments, *offer, self.url])

    def _command(self, main: str, arguments: list[str]) -> Command:
        argv = [str(spark_home() / "bin" / "spark-class"), main, *arguments]
        return Command(argv=argv, environment=self._environment())

    def _environment(self) -> dict[str, str]:
        """Nothing of the caller's own Spark: its SPARK_CONF_DIR or SPARK_MASTER_OPTS are meant for other processes."""
        inherited = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYTHON"))}
        return (
            {"PATH": os.defpath}
            | inherited
            | {
                "SPARK_HOME": str(spark_home()),
                "SPARK_CONF_DIR": str(self._configuration),
                "SPARK_LOCAL_IP": settings.host(),
                "SPARK_LOCAL_DIRS": str(self.folder / "scratch"),
                "SPARK_DAEMON_MEMORY": self.definition.heap,
                "SPARK_DAEMON_JAVA_OPTS": " ".join(settings.jvm_flags()),
            }
        )

    @property
    def _configuration(self) -> Path:
        return self.folder / "conf"

    def _write_configuration(self) -> None:
        java.java()  # spark-class finds it by itself, but says less when there is none
        self._configuration.mkdir(mode=0o700, exist_ok=True)
        java.write_log4j2(self._configuration / "log4j2.properties", self.definition.log_levels)
        defaults = self._configuration / "spark-defaults.conf"
        defaults.touch(mode=0o600)
        java.write_properties(
            defaults,
            self.definition.settings
            | {
                "spark.authenticate.secret": self._secret(),
                # A taken port is an error, not a reason to listen on the next one.
                "spark.port.maxRetries": 0,
            },
        )

    def _secret(self) -> str:
        if not self.secret_file.exists():
            self.secret_file.touch(mode=0o600)
            self.secret_file.write_text(secrets.token_hex(32))
        return self.secret_file.read_text()
