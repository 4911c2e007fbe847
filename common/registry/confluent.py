"""Ask Confluent's client of a schema registry once. It gives an answer, a no of the registry itself, or neither.

Import this module only where a registry is asked: it takes a quarter of a second, and most pipelines have none.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from confluent_kafka.schema_registry import SchemaRegistryClient

# The HTTP library that this client uses: httpx, or its successor.
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

from common.errors import first_line

T = TypeVar("T")
Question = Callable[[SchemaRegistryClient], T]
TIMEOUT_SECONDS = 5.0
NOT_NOW = {408, 425, 429}
# The errors of the client where a 200 brings no JSON, nothing at all, or JSON of another shape.
OTHER_SHAPE = (ValueError, TypeError, KeyError, AttributeError)


class NoAnswer(Exception):
    """The registry has not answered the question. The next try may succeed."""


class Refused(Exception):
    """The registry refuses the question with an HTTP status, and no further try changes that."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


def connected(urls: str, options: Mapping[str, str]) -> SchemaRegistryClient:
    """Build a client with a bound for each request. Further tries are left to the caller."""
    return SchemaRegistryClient({"url": urls, "timeout": TIMEOUT_SECONDS, "max.retries": 0, **options})


def answer(registry: SchemaRegistryClient, question: Question[T]) -> T | None:
    """Return the answer; None where the registry itself says that there is no such thing."""
    try:
        found = question(registry)
    except SchemaRegistryError as error:
        require_no(error)
        return None
    except (httpx.HTTPError, OAuthTokenError, OSError) as error:
        raise NoAnswer(first_line(error)) from error
    except OTHER_SHAPE as error:
        raise NoAnswer("an answer that is no registry's JSON") from error
    if found is None:
        raise NoAnswer("an empty answer")
    return found


def require_no(error: SchemaRegistryError) -> None:
    """Let an error pass that says there is no such thing. Raise NoAnswer or Refused for every other error."""
    status = error.http_status_code
    if status >= 500 or status in NOT_NOW:
        raise NoAnswer(f"HTTP {status}") from error
    # A proxy or another server says 404 too: only a registry gives a code for what is not there.
    if status != 404 or error.error_code in {None, SchemaRegistryError.UNKNOWN}:
        raise Refused(status) from error
