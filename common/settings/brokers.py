"""Read addresses of Kafka brokers as people write them, and write them as Kafka's clients want them."""

import ipaddress
import re

from common.errors import UsageError

DEFAULT_PORT = 9092
ADDRESS = re.compile(r"(?P<host>\[[^\]]*\]|[^:\[\]]*)(:(?P<port>[0-9]{1,5}))?")
HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")


def bootstrap(text: str) -> str:
    """Give every broker of a comma list its port: a bare host means 9092, an IPv6 address is in brackets."""
    return ",".join(_broker(address.strip()) for address in text.split(","))


def _broker(address: str) -> str:
    match = ADDRESS.fullmatch(address)
    if match is None or not _is_host(match["host"]):
        raise _not_a_broker(address)
    port = DEFAULT_PORT if match["port"] is None else int(match["port"])
    if not 1 <= port <= 65535:
        raise _not_a_broker(address)
    return f"{match['host']}:{port}"


def _is_host(host: str) -> bool:
    if not host.startswith("["):
        return HOST_NAME.fullmatch(host) is not None
    try:
        ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        return False
    return True


def _not_a_broker(address: str) -> UsageError:
    return UsageError(
        f"'{address}' is not the address of a broker",
        "write HOST or HOST:PORT, an IPv6 address in brackets, several with commas between them",
    )
