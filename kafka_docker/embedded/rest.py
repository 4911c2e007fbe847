"""HTTP to a service on this machine, past any proxy that the environment names."""

import json
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import Any


@dataclass(frozen=True)
class Answer:
    """Status 0: nobody answered."""

    status: int
    body: Any = None


def request(address: str, method: str, path: str, body: object = None, timeout_s: float = 5.0) -> Answer:
    """One request with a JSON answer; a refused or broken connection is an answer too."""
    connection = HTTPConnection(address, timeout=timeout_s)
    content = None if body is None else json.dumps(body)
    try:
        connection.request(method, path, content, {"Content-Type": "application/json", "Accept": "application/json"})
        response = connection.getresponse()
        return Answer(response.status, _json(response.read()))
    except (OSError, HTTPException):
        return Answer(0)
    finally:
        connection.close()


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None
