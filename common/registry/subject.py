"""One subject of a registry: the versions of one topic's schema, and the ids that messages carry."""

from dataclasses import dataclass
from typing import Any

from common.errors import ConfigurationError
from common.registry.client import Client
from common.settings.registry import Registry

# The id is a signed number of four bytes.
GREATEST_ID = 2**31 - 1
AVRO = "AVRO"


@dataclass(frozen=True)
class Registered:
    """A schema as the registry has it."""

    id: int
    text: str
    kind: str
    has_references: bool


class Subject:
    """The schemas that records of the pipeline may be written by."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client

    @classmethod
    def of(cls, registry: Registry, patience_seconds: float | None = None) -> "Subject":
        return cls(Client.of(registry, patience_seconds), registry.subject)

    def version(self, number: int | None = None) -> Registered:
        """Return this version, or the latest."""
        found = self._client.ask(lambda registry: of_version(registry.get_version(self.name, number or "latest")))
        if found is None:
            which = f"no version {number} of subject" if number else "no subject"
            raise ConfigurationError(
                f"the schema registry at {self._client.url} has {which} '{self.name}'",
                "register the producer's schema, or correct [source.registry]",
            )
        return found

    def schema(self, number: int) -> Registered | None:
        """Return the schema with this id, whatever its subject; None where the registry knows that there is none."""
        if number > GREATEST_ID:
            return None
        return self._client.ask(lambda registry: registered(number, registry.get_schema(number)))

    def has(self, number: int) -> bool:
        """True where a version of this subject has this id. A deleted version counts, because its records remain."""
        found = self._client.ask(lambda registry: registry.get_schema_versions(number, deleted=True)) or []
        return any(version.subject == self.name for version in found)


def of_version(found: Any) -> Registered:
    return registered(found.schema_id, found.schema)


def registered(number: Any, schema: Any) -> Registered:
    """Read a schema of Confluent's client, which leaves out what an answer lacks."""
    if not isinstance(number, int) or not isinstance(schema.schema_str, str):
        raise TypeError("an answer without a schema")
    return Registered(number, schema.schema_str, schema.schema_type or AVRO, bool(schema.references))
