"""One subject of a registry: the versions of one topic's schema, and the ids that messages carry."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

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
        """Return this version of the subject, or the latest."""
        answer = self._client.get(f"/subjects/{quote(self.name, safe='')}/versions/{number or 'latest'}")
        if answer is None:
            which = f"no version {number} of subject" if number else "no subject"
            raise ConfigurationError(
                f"the schema registry at {self._client.url} has {which} '{self.name}'",
                "register the producer's schema, or correct [source.registry]",
            )
        return registered(answer["id"], answer)

    def schema(self, number: int) -> Registered | None:
        """Return the schema with this id, whatever its subject; None where the registry has none."""
        if number > GREATEST_ID:
            return None
        answer = self._client.get(f"/schemas/ids/{number}")
        return None if answer is None else registered(number, answer)

    def has(self, number: int) -> bool:
        """True where a version of this subject has this id. A deleted version counts, because its records exist."""
        versions = self._client.get(f"/schemas/ids/{number}/versions?deleted=true") or []
        return any(version["subject"] == self.name for version in versions)


def registered(number: int, answer: dict[str, Any]) -> Registered:
    return Registered(number, answer["schema"], answer.get("schemaType", AVRO), bool(answer.get("references")))
