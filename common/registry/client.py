"""Ask a schema registry by Confluent's REST API. Every request has a bound, and silence never counts as a no."""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from common.errors import ConfigurationError, RegistryUnreachable, first_line
from common.settings.environment import registry_url
from common.settings.registry import Registry
from common.settings.remedies import start_service
from common.settings.secrets import reveal

TIMEOUT_SECONDS = 5.0
# The time that a registry may take to restart. Nothing is read or written meanwhile.
PATIENCE_SECONDS = 60.0
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0
HTTP_PORT = 80
NOT_NOW = {408, 425, 429}
NOT_ALLOWED = {401, 403}


class NoAnswer(Exception):
    """The request got no answer that settles the question. The next try may get one."""


@dataclass(frozen=True)
class Client:
    """One registry. The headers hold a secret in plain text, so no repr shows them."""

    url: str
    patience_seconds: float
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, registry: Registry, patience_seconds: float | None = None) -> "Client":
        return cls(registry_url() or registry.url, patience_seconds or PATIENCE_SECONDS, headers(registry))

    def get(self, path: str) -> Any:
        """Return the answer; None where the registry itself says that there is no such thing."""
        until, pause = time.monotonic() + self.patience_seconds, FIRST_PAUSE_SECONDS
        while True:
            try:
                return self._answer(path)
            except NoAnswer as error:
                if time.monotonic() + pause > until:
                    raise self._unreachable(first_line(error)) from error
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _answer(self, path: str) -> Any:
        status, body = self._request(path)
        if status >= 500 or status in NOT_NOW:
            raise NoAnswer(f"HTTP {status}")
        if status in NOT_ALLOWED:
            raise ConfigurationError(
                f"the schema registry at {self.url} does not let us in (HTTP {status})",
                "correct username and password of [source.registry]",
            )
        # A proxy or another server answers 404 too, but only a registry adds an error code.
        if status == 404 and "error_code" in error_body(body):
            return None
        if status != 200:
            raise ConfigurationError(
                f"{self.url}{path} is no answer of a schema registry (HTTP {status})",
                "correct url of [source.registry]; it includes the path of Confluent's API",
            )
        try:
            return json.loads(body)
        except ValueError as error:
            raise NoAnswer("an answer that is not JSON") from error

    def _request(self, path: str) -> tuple[int, bytes]:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(str(parts.hostname), parts.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request("GET", f"{parts.path.rstrip('/')}{path}", headers=dict(self.headers))
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, HTTPException) as error:
            raise NoAnswer(first_line(error)) from error
        finally:
            connection.close()

    def _unreachable(self, reason: str) -> RegistryUnreachable:
        return RegistryUnreachable(
            f"no schema registry answers at {self.url} ({reason})",
            f"{start_registry(self.url)}correct url of [source.registry]; nothing was read",
        )


def start_registry(url: str) -> str:
    parts = urlsplit(url)
    start = start_service("registry", str(parts.hostname), parts.port or HTTP_PORT)
    return "start it, or " if start is None else f"start it with {start}, or "


def error_body(body: bytes) -> Mapping[str, Any]:
    """Parse an answer as a JSON object, or return an empty one."""
    try:
        content = json.loads(body)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def headers(registry: Registry) -> dict[str, str]:
    accepted = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
    if registry.username is None or registry.password is None:
        return accepted
    pair = f"{registry.username}:{reveal(registry.password)}".encode()
    return {**accepted, "Authorization": f"Basic {base64.b64encode(pair).decode()}"}
