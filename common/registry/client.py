"""Ask a schema registry, with a bound for each question. A missing answer does not count as a no."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import urlsplit

from common.errors import ConfigurationError, RegistryUnreachable, first_line
from common.settings.environment import home, registry_url
from common.settings.registry import Registry, addresses
from common.settings.remedies import start_service
from common.settings.secrets import reveal
from common.waiting import tries

T = TypeVar("T")
# The time that a restart of the registry may take. Nothing is read or written meanwhile.
PATIENCE_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
HTTP_PORT = 80
NOT_ALLOWED = {401, 403}


@dataclass(frozen=True)
class Client:
    """One registry, at one address or several. The options hold secrets in the clear, so no repr shows them."""

    url: str
    patience_seconds: float
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, registry: Registry, patience_seconds: float | None = None) -> "Client":
        return cls(chosen_url(registry), patience_seconds or PATIENCE_SECONDS, options(registry))

    def ask(self, question: Callable[[Any], T]) -> T | None:
        """Return the answer to a question; None where the registry says that there is no such thing."""
        from common.registry import confluent  # noqa: PLC0415  that module says why

        failure = confluent.NoAnswer()
        for _ in tries(self.patience_seconds, FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS):
            try:
                return confluent.answer(self._registry, question)
            except confluent.NoAnswer as error:
                failure = error
            except confluent.Refused as error:
                raise self._refused(error.status) from error
        raise self._unreachable(first_line(failure)) from failure

    @cached_property
    def _registry(self) -> Any:
        from common.registry.confluent import connected  # noqa: PLC0415

        try:
            return connected(self.url, self.options)
        except (OSError, ValueError) as error:
            raise ConfigurationError(
                f"the settings of the schema registry at {self.url} do not work ({first_line(error)})",
                "correct the ssl_ settings of [source.registry]",
            ) from error

    def _refused(self, status: int) -> ConfigurationError:
        if status in NOT_ALLOWED:
            return ConfigurationError(
                f"the schema registry at {self.url} does not let us in (HTTP {status})",
                "correct username and password, or token, of [source.registry]",
            )
        return ConfigurationError(
            f"what {self.url} says is no answer of a schema registry (HTTP {status})",
            "correct url of [source.registry]; it includes the path of Confluent's API",
        )

    def _unreachable(self, reason: str) -> RegistryUnreachable:
        return RegistryUnreachable(
            f"no schema registry answers at {self.url} ({reason})",
            f"{start_registry(self.url)}correct url of [source.registry]; nothing was read",
        )


def chosen_url(registry: Registry) -> str:
    other = registry_url()
    if not other:
        return registry.url
    try:
        return addresses(other)
    except ValueError as error:
        raise ConfigurationError(f"ALLUVIUM_REGISTRY_URL: {error}", "correct it, or unset it") from None


def start_registry(urls: str) -> str:
    parts = urlsplit(urls.partition(",")[0])
    start = start_service("registry", str(parts.hostname), parts.port or HTTP_PORT)
    return "start it, or " if start is None else f"start it with {start}, or "


def options(registry: Registry) -> dict[str, str]:
    """Return the options of Confluent's client for access to the registry, with secrets in plain text."""
    found = {"ssl.ca.location": trusted(registry)}
    if registry.username is not None and registry.password is not None:
        found["basic.auth.user.info"] = f"{registry.username}:{reveal(registry.password)}"
    if registry.token is not None:
        found["bearer.auth.credentials.source"] = "STATIC_TOKEN"
        found["bearer.auth.token"] = reveal(registry.token)
        # Only Confluent's cloud has more than one cluster behind an address.
        found["bearer.auth.logical.cluster"] = ""
    if registry.ssl_certificate is not None and registry.ssl_key is not None:
        reveal(registry.ssl_key)  # looks whether others can read it
        found["ssl.certificate.location"] = str(home() / registry.ssl_certificate)
        found["ssl.key.location"] = str(home() / registry.ssl_key.removeprefix("file:"))
    if registry.ssl_key_password is not None:
        found["ssl.key.password"] = reveal(registry.ssl_key_password)
    return {name: value for name, value in found.items() if value is not None}


def trusted(registry: Registry) -> str | None:
    """Return the named authorities, else those that this machine trusts: Confluent's client has a list of its own."""
    if registry.ssl_ca is not None:
        return str(home() / registry.ssl_ca)
    known = ssl.get_default_verify_paths()
    return known.cafile or known.capath
