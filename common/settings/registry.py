"""The section [source.registry]: where a pipeline's Avro schemas are."""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from common.settings.base import Secret, Section


def address(text: str) -> str:
    """Refuse an address with credentials: they would be in a file, and in every message that names the registry."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("a registry is named as http://HOST:PORT/PATH or https://HOST:PORT/PATH")
    if parts.username is not None:
        raise ValueError("credentials do not stand in a registry's address; say username and password beside it")
    return text.rstrip("/")


class Registry(Section):
    """A registry with Confluent's API. Events are read by the subject's latest version, or by the one that is named."""

    url: Annotated[str, AfterValidator(address)]
    """The address of the registry, with the path of Confluent's API. `ALLUVIUM_REGISTRY_URL` names another one.

    Example: url = "https://registry.example.com:8085/apis/ccompat/v7"
    """
    subject: str = Field(min_length=1)
    """The subject that the schemas of the topic's values are registered under.

    Example: subject = "parcels-value"
    """
    version: int | None = Field(default=None, ge=1)
    """The version by which events are read. By default, the latest when the job starts.

    Example: version = 3
    """
    username: str | None = Field(default=None, min_length=1)
    """The user, where the registry asks for one. Goes with `password`.

    Example: username = "reader"
    """
    password: Secret | None = None
    """The password of the user.

    Example: password = "env:REGISTRY_PASSWORD"
    """

    @model_validator(mode="after")
    def credentials_are_whole(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password belong together")
        return self
