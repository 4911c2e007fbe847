"""The services by name, in the order in which they can be started."""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from kafka_docker.embedded import settings
from kafka_docker.embedded.connect import Connect
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.postgres import Postgres
from kafka_docker.embedded.registry import Registry
from kafka_docker.embedded.service import Service
from kafka_docker.embedded.spark_cluster import SparkCluster

AnyService = Service[Any]
KINDS: dict[str, Callable[..., AnyService]] = {
    "kafka": Kafka,
    "registry": Registry,
    "connect": Connect,
    "spark": SparkCluster,
}


def names() -> list[str]:
    return settings.service_names()


def service(name: str, home: Path, port: int | None = None) -> AnyService:
    kind = KINDS.get(name) or partial(Postgres, name=name)
    return kind(home, port)


def in_order(chosen: Iterable[str]) -> list[str]:
    """Sort the services as in services.toml, which names a service after those that it needs."""
    return sorted(set(chosen), key=names().index)
