"""The section [source.registry]: the registry of a pipeline's Avro schemas."""

from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from common.settings.base import Secret, Section


def addresses(text: str) -> str:
    """Read one address, or several with commas between them."""
    return ",".join(address(each.strip()) for each in text.split(","))


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

    url: Annotated[str, AfterValidator(addresses)]
    """The address of the registry, with the path of Confluent's API; several have commas between them, and the next is
    asked where one does not answer. `ALLUVIUM_REGISTRY_URL` names another one.

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

    token: Secret | None = None
    """A token in place of `username` and `password`, where the registry asks for one (`Authorization: Bearer`).

    Example: # token = "file:/etc/alluvium/registry-token"
    """
    ssl_ca: str | None = None
    """A PEM file with the authorities to trust; without it, those that this machine trusts.

    Example: ssl_ca = "/etc/alluvium/ca.pem"
    """
    ssl_certificate: str | None = None
    """A PEM file with our certificate, for a registry that asks for one. Goes with `ssl_key`.

    Example: ssl_certificate = "/etc/alluvium/client.pem"
    """
    ssl_key: Secret | None = None
    """The key of our certificate, in a PEM file.

    Example: ssl_key = "file:/etc/alluvium/client.key"
    """
    ssl_key_password: Secret | None = None
    """The password of the key, if it is encrypted.

    Example: ssl_key_password = "env:KEY_PASSWORD"
    """

    @model_validator(mode="after")
    def credentials_are_whole(self) -> Self:
        if (self.username is None) != (self.password is None):
            raise ValueError("username and password belong together")
        if ":" in (self.username or ""):
            raise ValueError("a username has no colon: HTTP would take what follows it for the password")
        if (self.ssl_certificate is None) != (self.ssl_key is None):
            raise ValueError("ssl_certificate and ssl_key belong together")
        if self.ssl_key is not None and not self.ssl_key.startswith("file:"):
            raise ValueError("ssl_key of a registry is in a file; write file:PATH")
        if self.ssl_key_password is not None and self.ssl_key is None:
            raise ValueError("ssl_key_password has no effect without ssl_key")
        if self.token is not None and self.username is not None:
            raise ValueError("a registry is told a token or a username, not both")
        return self

    @model_validator(mode="after")
    def tls_has_an_effect(self) -> Self:
        """Refuse settings of TLS with http, where they have no effect: whoever sets them expects that they are used."""
        given = [name for name in ("ssl_ca", "ssl_certificate") if getattr(self, name) is not None]
        if given and "http:" in self.url:
            raise ValueError(f"{given[0]} has no effect with http")
        return self
