"""HTTP with JSON to a service, past any proxy that the environment names."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any


@dataclass(frozen=True)
class Answer:
    """An answer of a service. Status 0 means that nobody answered, and `reason` says why."""

    status: int
    body: Any = None
    reason: str = ""


def request(
    address: str, method: str, path: str, body: object = None, timeout_s: float = 5.0, *, tls: bool = False
) -> Answer:
    """Make one request with a JSON answer; a refused or broken connection is an answer too."""
    connection = (HTTPSConnection if tls else HTTPConnection)(address, timeout=timeout_s)
    content = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, content, {"Content-Type": "application/json", "Accept": "application/json"})
        response = connection.getresponse()
        return Answer(response.status, _json(response.read()))
    except (OSError, HTTPException) as error:
        return Answer(0, reason=str(error) or type(error).__name__)
    finally:
        connection.close()


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
