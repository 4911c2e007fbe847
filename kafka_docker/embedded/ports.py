"""Ports: which to use, whether they are free, and who holds one that is not."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import psutil

from kafka_docker.embedded import settings
from kafka_docker.embedded.errors import PortTaken

MAIN = "port"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((settings.host(), 0))
        return int(probe.getsockname()[1])


def chosen(definition: settings.Definition, port: int | None, further: Mapping[str, int]) -> dict[str, int]:
    """Choose ports by argument, environment or file. A service on another port than usual gets other further ports."""
    main = port or settings.port_from_environment(definition.name) or definition.port
    moved = main != definition.port
    return {MAIN: main} | {
        key: further.get(key)
        or settings.port_from_environment(definition.name, key)
        or (free_port() if moved else usual)
        for key, usual in definition.ports.items()
    }


def require_free(service: str, ports: Mapping[str, int]) -> None:
    for port in ports.values():
        if not is_free(port):
            raise PortTaken(
                f"port {port}, which {service} needs, is taken{_by_whom(port)}",
                f"stop that process, or choose another port with --port or ALLUVIUM_{_variable(service)}_PORT",
            )


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # Without this a port whose last connections linger in TIME_WAIT would count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host(), port))
        except OSError:
            return False
        return True


def _variable(service: str) -> str:
    return service.upper().replace("-", "_")


def _by_whom(port: int) -> str:
    try:
        pid = _holder(port)
        return f" by process {pid} ({psutil.Process(pid).name()})" if pid else ""
    except psutil.NoSuchProcess:  # it has just ended
        return ""


def _holder(port: int) -> int | None:
    try:
        found = [(each.pid, each) for each in psutil.net_connections("tcp")]
    except psutil.AccessDenied:  # macOS tells about all processes to root only, and about their own to everybody
        found = list(_own_connections())
    holders = (pid for pid, each in found if each.status == psutil.CONN_LISTEN and each.laddr.port == port)
    return next(filter(None, holders), None)


def _own_connections() -> Iterator[tuple[int, Any]]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            for each in process.net_connections("tcp"):
                yield process.pid, each
