"""One process of a service: started in its own session, known by its pid file, ended only if it is still the same."""

import json
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from common.waiting import await_true
from kafka_docker.embedded import process_table

# A child of ours that has ended stays a zombie until it is asked; keeping the handles lets poll() do that.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Account:
    """The account that runs a process; by default our own."""

    uid: int | None = None
    gid: int | None = None

    @property
    def groups(self) -> list[int] | None:
        """The further groups; None keeps our own, which another account must not have."""
        return None if self.uid is None else []


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command to start, with its environment and its account."""

    argv: list[str]
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    account: Account = Account()


class Process:
    """A process by the name of its pid file and log."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        self._pid_file = folder / f"{name}.pid"

    @property
    def launched(self) -> bool:
        """True where the process was started and not yet stopped; it may have ended by itself."""
        return self._pid_file.exists()

    @property
    def pid(self) -> int | None:
        """The pid of the process that we started; None where it has ended, even if another has its number now."""
        process = self._process()
        return None if process is None else int(process.pid)

    def start(self, command: Command) -> None:
        if self.log.exists():
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("wb") as log:
            child = subprocess.Popen(
                command.argv,
                cwd="/",
                env=command.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=command.account.uid,
                group=command.account.gid,
                extra_groups=command.account.groups,
            )
        _children[child.pid] = child
        self._record(child.pid)

    def stop(self, stop_signal: signal.Signals, timeout_s: float) -> bool:
        """Send the signal, wait, and kill what is left, children included. False where there was nothing to stop."""
        process = self._process()
        if process is not None:
            family = process_table.family(process)
            # A paused process would never hear the request.
            _send(family, signal.SIGCONT)
            _send([process], stop_signal)
            if not _await_end(family, timeout_s):
                _kill(family)
        self.forget()
        return process is not None

    def kill(self) -> None:
        """Kill everything at once, as a power cut would."""
        process = self._process()
        if process is not None:
            _kill(process_table.family(process))
        self.forget()

    def forget(self) -> None:
        self._pid_file.unlink(missing_ok=True)

    def pause(self) -> None:
        self._signal_family(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal_family(signal.SIGCONT)

    def _process(self) -> psutil.Process | None:
        try:
            record = json.loads(self._pid_file.read_text())
            pid, identity = int(record["pid"]), str(record["identity"])
        except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError):
            return None
        _reap(pid)
        process = process_table.living(pid)
        return process if process is not None and process_table.identity(process) == identity else None

    def _signal_family(self, which: signal.Signals) -> None:
        process = self._process()
        if process is not None:
            _send(process_table.family(process), which)

    def _record(self, pid: int) -> None:
        process = process_table.living(pid)
        identity = None if process is None else process_table.identity(process)
        partial = self._pid_file.with_suffix(".partial")
        partial.write_text(json.dumps({"pid": pid, "identity": identity}))
        partial.replace(self._pid_file)


def _reap(pid: int) -> None:
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        del _children[pid]


def _alive(family: Sequence[psutil.Process]) -> list[psutil.Process]:
    for process in family:
        _reap(process.pid)
    return [process for process in family if process_table.lives(process)]


def _await_end(family: Sequence[psutil.Process], timeout_s: float) -> bool:
    return await_true(lambda: not _alive(family), timeout_s)


def _kill(family: Sequence[psutil.Process]) -> None:
    _send(_alive(family), signal.SIGKILL)
    _await_end(family, 10)


def _send(family: Sequence[psutil.Process], which: signal.Signals) -> None:
    """Send a signal. psutil checks before each one that the number still belongs to the same process."""
    for process in family:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(which)
