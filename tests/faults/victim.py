"""A real job as a victim: started through submit/, awaited at a named point, and killed with SIGKILL from outside."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from common.waiting import await_true, tries
from tests.support.commands import clean_environment

PATIENCE_SECONDS = 240.0


class NeverCame(AssertionError):
    """The job ended, or went on, without reaching the point where it should have been killed."""


class Victim:
    """One process tree: spark-submit's JVM, which the script has become, and the Python driver below it."""

    def __init__(
        self, command: list[str], *, home: Path, environment: dict[str, str], fault: str | None = None
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="victim-", dir=environment["ALLUVIUM_LOG_DIR"]))
        self._file = self._folder / "reached"
        named = {} if fault is None else {"ALLUVIUM_FAULT": fault, "ALLUVIUM_FAULT_FILE": str(self._file)}
        # Appended to: the driver opens it once more, as its stderr.
        with (self._folder / "output").open("ab") as output:
            self._process = subprocess.Popen(
                command,
                cwd=home,
                env=clean_environment() | environment | named,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return (self._folder / "output").read_text(errors="replace")

    def await_point(self) -> None:
        self.await_moment(self._file.exists)

    def await_moment(self, has_come: Callable[[], bool], poll_seconds: float = 0.02) -> None:
        for _ in tries(PATIENCE_SECONDS, poll_seconds):
            if has_come():
                return
            if self._process.poll() is not None:
                break
        self.kill()
        raise NeverCame(f"exit code {self._process.returncode}: {self.output[-2000:]}")

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """To its own end; gives the exit code."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill_after(self, seconds: float) -> bool:
        """Killed after that time, unless it has ended well before; True if it was."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return self.kill()
        assert code == 0, f"exit code {code}: {self.output[-2000:]}"
        return False

    def kill_python(self) -> None:
        """The Python driver alone, which has told its process id at the point where it was awaited."""
        os.kill(int(self._file.read_text()), signal.SIGKILL)

    def stop_jvm(self) -> None:
        """It stands still, in the midst of what it does."""
        os.kill(self._process.pid, signal.SIGSTOP)

    def resume_jvm(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)

    def is_running(self) -> bool:
        return self._process.poll() is None

    def signal(self, which: signal.Signals, to: str) -> None:
        """To the `jvm` alone, as `docker stop` does, to the Python `driver` alone, or to the whole `group`, as Ctrl-C
        does."""
        group = self._process.pid
        if to == "group":
            os.killpg(group, which)
        else:
            (driver,) = [each for each in members(group) if each != group]
            os.kill(group if to == "jvm" else driver, which)

    def is_gone(self) -> bool:
        """After its end: nothing of the tree is left."""
        await_empty(self._process.pid)
        return True

    def kill(self, *, jvm_only: bool = False) -> bool:
        """SIGKILL, to the JVM alone as the kernel's memory killer would, or to all of it as a power cut. True if it
        died of that. Returns when nothing of the tree is left: an orphan that lingers is a failure of its own."""
        group = self._process.pid
        if self._process.poll() is None:
            (os.kill if jvm_only else os.killpg)(group, signal.SIGKILL)
        code = self._process.wait(30)
        await_empty(group)
        return code == -signal.SIGKILL


def await_empty(group: int) -> None:
    if not await_true(lambda: not members(group), 60):
        left = members(group)
        os.killpg(group, signal.SIGKILL)
        raise AssertionError(f"processes {left} outlived their JVM by a minute")


def members(group: int) -> list[int]:
    """The processes of a session's group that still run; the dead that nobody has asked for do not count."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found
