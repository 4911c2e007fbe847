"""What the operating system knows about processes: /proc where there is one, ps elsewhere."""

import subprocess
from pathlib import Path

PROC = Path("/proc")
ON_LINUX = (PROC / "self" / "stat").exists()


def identity(pid: int) -> str | None:
    """Tells a process from a later one with the same number; None when it has ended (a zombie has)."""
    if not ON_LINUX:
        return _ps("-o", "lstart=", "-p", str(pid)) or None
    fields = _stat(pid)
    if fields is None or (fields[0] in "ZX" and not _has_other_threads(pid)):
        return None
    boot = (PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{fields[19]}"


def descendants(pid: int) -> list[int]:
    """Children, their children and so on, parents first."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents().items():
        children.setdefault(parent, []).append(child)
    found: list[int] = []
    pending = [pid]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def command_name(pid: int) -> str:
    if not ON_LINUX:
        return Path(_ps("-o", "comm=", "-p", str(pid))).name
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except OSError:
        return ""


def _parents() -> dict[int, int]:
    if not ON_LINUX:
        rows = (line.split() for line in _ps("-A", "-o", "pid=,ppid=").splitlines())
        return {int(pid): int(parent) for pid, parent in rows}
    pids = [int(entry.name) for entry in PROC.iterdir() if entry.name.isdecimal()]
    stats = {pid: _stat(pid) for pid in pids}
    return {pid: int(fields[1]) for pid, fields in stats.items() if fields}


def _has_other_threads(pid: int) -> bool:
    """A process whose first thread has ended holds its ports until the last one has."""
    try:
        return len(list((PROC / str(pid) / "task").iterdir())) > 1
    except OSError:
        return False


def _stat(pid: int) -> list[str] | None:
    """The fields after the command's name, which may itself hold spaces and brackets."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _ps(*arguments: str) -> str:
    return subprocess.run(["ps", *arguments], capture_output=True, text=True, check=False).stdout.strip()
