"""Confluent's client of a schema registry, asked once: an answer, a no of the registry itself, or neither.

Imported only where a registry is asked: it takes a quarter of a second, and most pipelines have none.
"""

from collections.abc import Callable, Mapping
from typing import TypeVar

from confluent_kafka.schema_registry import SchemaRegistryClient

# httpx, or what has come after it: the one that this client uses.
from confluent_kafka.schema_registry.common._httpx_compat import httpx
from confluent_kafka.schema_registry.error import OAuthTokenError, SchemaRegistryError

from common.errors import first_line

T = TypeVar("T")
Question = Callable[[SchemaRegistryClient], T]
TIMEOUT_SECONDS = 5.0
NOT_NOW = {408, 425, 429}
# What the client raises where a 200 brings no JSON, nothing at all, or JSON of another shape.
OTHER_SHAPE = (ValueError, TypeError, KeyError, AttributeError)


class NoAnswer(Exception):
    """Nothing that settles the question; the next try may."""


class Refused(Exception):
    """An answer that no further try changes, by its HTTP status."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


def connected(urls: str, options: Mapping[str, str]) -> SchemaRegistryClient:
    """A client that has a bound for each request, and leaves further tries to whoever asks."""
    return SchemaRegistryClient({"url": urls, "timeout": TIMEOUT_SECONDS, "max.retries": 0, **options})


def answer(registry: SchemaRegistryClient, question: Question[T]) -> T | None:
    """The answer; None where the registry itself says that there is no such thing."""
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
    """Lets pass what the registry itself says is not there; anything else is no answer, or a refusal."""
    status = error.http_status_code
    if status >= 500 or status in NOT_NOW:
        raise NoAnswer(f"HTTP {status}") from error
    # A proxy or another server says 404 too: only a registry gives a code for what is not there.
    if status != 404 or error.error_code in {None, SchemaRegistryError.UNKNOWN}:
        raise Refused(status) from error
