"""services.toml and the environment, read once into small definitions."""

import os
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from common.errors import ConfigurationError

ROOT = Path(__file__).resolve().parent.parent.parent
FILE = ROOT / "kafka_docker" / "services.toml"
Value = str | int | bool


@dataclass(frozen=True, kw_only=True)
class Definition:
    """The settings that every service has."""

    name: str
    port: int
    ports: dict[str, int] = field(default_factory=dict)
    jars: list[str]
    ready_timeout_s: int
    stop_timeout_s: int
    settings: dict[str, Value]


@dataclass(frozen=True, kw_only=True)
class JvmDefinition(Definition):
    """A service that is one or more Java processes."""

    heap: str
    log_levels: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class ConnectDefinition(JvmDefinition):
    """Kafka Connect: the services it needs and its plugins' jar groups."""

    needs: list[str]
    plugins: list[str]


@dataclass(frozen=True, kw_only=True)
class RegistryDefinition(JvmDefinition):
    """The schema registry, with the path at which Confluent's API begins."""

    api: str


@dataclass(frozen=True, kw_only=True)
class SparkDefinition(JvmDefinition):
    """A standalone cluster, with the cores and the memory of each worker."""

    worker_cores: int
    worker_memory: str


@dataclass(frozen=True, kw_only=True)
class PostgresDefinition(Definition):
    """One database server: its owner, its database, and the account that runs it when we are root."""

    user: str
    database: str
    run_as: str


D = TypeVar("D", bound=Definition)


@cache
def contract() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text())


def host() -> str:
    return str(contract()["host"])


def jvm_flags() -> list[str]:
    return list(contract()["jvm"]["flags"])


def service_names() -> list[str]:
    return list(contract()["services"])


def definition(kind: type[D], name: str) -> D:
    """Read the service's table over its template's; a missing or an unknown key is an error."""
    own = dict(contract()["services"][name])
    template = own.pop("template", None)
    inherited = contract()["templates"][template] if template else {}
    try:
        return kind(name=name, **{**inherited, **own})
    except TypeError as error:
        raise ConfigurationError(
            f"{FILE.name}: [services.{name}]: {error}", "compare it with its definition in kafka_docker/embedded"
        ) from error


def services_dir() -> Path:
    """Return the folder of data, pid files, logs and generated configuration."""
    return Path(os.environ.get("ALLUVIUM_SERVICES_DIR") or ROOT / "var" / "services").absolute()


def port_from_environment(service: str, key: str = "") -> int | None:
    """Read ALLUVIUM_KAFKA_PORT for the service's own port, ALLUVIUM_KAFKA_CONTROLLER_PORT for a further one."""
    variable = "_".join(filter(None, ["alluvium", service, key, "port"])).upper().replace("-", "_")
    text = os.environ.get(variable)
    if not text:
        return None
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise ConfigurationError(f"{variable}={text} is not a port", "set it to a number from 1 to 65535")
    return int(text)


def postgres_password_from_environment() -> str | None:
    return os.environ.get("ALLUVIUM_POSTGRES_PASSWORD") or None
