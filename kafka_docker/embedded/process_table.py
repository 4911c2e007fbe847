"""Processes of this machine, by psutil: whether one lives, which one it is, and what it has started."""

import os
from pathlib import Path

import psutil

# psutil knows when the machine was started, by a clock that can be set; only Linux has a name for each start.
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
ENDED = {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}


def living(pid: int) -> psutil.Process | None:
    """Return the process of this number; None where it has ended."""
    try:
        process = psutil.Process(pid)
    except psutil.Error:
        return None
    return process if lives(process) else None


def lives(process: psutil.Process) -> bool:
    """True where the process has not ended, and its number belongs to no other. A zombie has ended."""
    try:
        return process.is_running() and (process.status() not in ENDED or _has_other_threads(process))
    except psutil.Error:
        return False


def identity(process: psutil.Process) -> str | None:
    """Return a text that tells a process from a later one with the same number; None where it has just ended.

    On Linux it stays the same when the clock is set: it counts the ticks from the machine's start to the process's.
    """
    try:
        created = process.create_time()
    except psutil.Error:
        return None
    if not psutil.LINUX:
        return f"{created:.2f}"
    ticks = (created - psutil.boot_time()) * os.sysconf("SC_CLK_TCK")
    return f"{BOOT_ID.read_text().strip()}:{round(ticks)}"


def family(process: psutil.Process) -> list[psutil.Process]:
    """Return the process, its children, their children and so on, parents first."""
    try:
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return [process]


def _has_other_threads(process: psutil.Process) -> bool:
    """True where a process has further threads: it holds its ports until the last thread has ended."""
    return bool(process.num_threads() > 1)
