"""Ports: which to use, whether they are free, and who holds one that is not."""

import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kafka_docker.embedded import process_table, settings
from kafka_docker.embedded.errors import PortTaken

MAIN = "port"
LISTEN = "0A"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((settings.host(), 0))
        return int(probe.getsockname()[1])


def chosen(definition: settings.Definition, port: int | None, further: Mapping[str, int]) -> dict[str, int]:
    """Argument, environment, file. A service moved from its usual port has its further ports moved too."""
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
    pid = _holder(port)
    return f" by process {pid} ({process_table.command_name(pid)})" if pid else ""


def _holder(port: int) -> int | None:
    if process_table.ON_LINUX:
        return _holder_in_proc(port)
    if not shutil.which("lsof"):
        return None
    said = subprocess.run(["lsof", "-nP", "-t", f"-iTCP:{port}", "-sTCP:LISTEN"], capture_output=True, check=False)
    pids = said.stdout.split()
    return int(pids[0]) if pids else None


def _holder_in_proc(port: int) -> int | None:
    sockets = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    for entry in process_table.PROC.glob("[0-9]*/fd/*"):
        try:
            if str(entry.readlink()) in sockets:
                return int(entry.parent.parent.name)
        except OSError:  # another user's process, or one that has just ended
            continue
    return None


def _listening_inodes(port: int) -> list[str]:
    rows: list[list[str]] = []
    for table in ("net/tcp", "net/tcp6"):
        path: Path = process_table.PROC / table
        if path.exists():
            rows += [line.split() for line in path.read_text().splitlines()[1:]]
    return [row[9] for row in rows if row[3] == LISTEN and int(row[1].rpartition(":")[2], 16) == port]
