"""The base of all services: start and be ready, stop, survive the command that started them."""

import fcntl
import json
import shutil
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, ClassVar, Generic

from common.errors import Locked
from common.settings.remedies import services
from common.waiting import tries
from kafka_docker.embedded import log_files, ports, settings
from kafka_docker.embedded.errors import FolderUnusable, NotRunning, ServiceError, StartFailed
from kafka_docker.embedded.process import Command, Process
from kafka_docker.embedded.settings import D

Progress = Callable[[str], None]


def silently(_: str) -> None:
    pass


class Service(ABC, Generic[D]):
    """A service with its own folder below `home`; any number live side by side in different homes."""

    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, definition: D, home: Path, port: int | None, further: Mapping[str, int] | None) -> None:
        self.definition = definition
        self.name = definition.name
        self.home = home.absolute()
        self.folder = self.home / self.name
        self.processes = [Process(name, self.folder) for name in self.process_names()]
        self._asked_port = port
        self.ports = self._running_ports() or ports.chosen(definition, port, further or {})

    # The parts that each service defines.

    def process_names(self) -> list[str]:
        return [self.name]

    @abstractmethod
    def prepare(self) -> list[Command]:
        """Write what the processes need and say how to start them, one command for each of `process_names`."""

    @abstractmethod
    def answers(self) -> bool:
        """True where the service truly answers, in its own protocol."""

    def admits_next(self, process: Process) -> bool:  # noqa: ARG002  for those with more than one process
        """True where the next process can be started after this one."""
        return True

    def settle(self) -> None:
        """Do what is left to do once the service answers."""

    # The commands.

    @property
    def port(self) -> int:
        return self.ports[ports.MAIN]

    @property
    def address(self) -> str:
        return f"{settings.host()}:{self.port}"

    @property
    def running(self) -> bool:
        """True where any process of the service lives."""
        return any(process.pid is not None for process in self.processes)

    def start(self, progress: Progress = silently) -> bool:
        """Start the service and wait until it is ready; False where it was running already."""
        if not self.running:
            # Before anything is written: a refusal leaves nothing behind.
            ports.require_free(self.name, self.ports)
        with self._alone():
            if self.running:
                self.ports = self._running_ports() or self.ports
                self._require_as_asked()
                return False
            ports.require_free(self.name, self.ports)
            progress(f"{self.name}: starting on port {self.port}")
            began = time.monotonic()
            self._start_and_await(progress)
            progress(f"{self.name}: ready at {self.address} after {time.monotonic() - began:.1f} s")
        return True

    def stop(self) -> bool:
        """Stop the service gracefully, within a bound; False where it was not running."""
        if not self.folder.exists():
            return False
        with self._alone():
            return self._end_processes()

    def kill(self) -> None:
        """Kill all processes at once, as a crash would."""
        for process in self.processes:
            process.kill()

    def pause(self) -> None:
        """Freeze every process: alive, holding its ports, silent."""
        for process in self.processes:
            process.pause()

    def resume(self) -> None:
        for process in self.processes:
            process.resume()

    def remove(self) -> None:
        """Stop the service, and delete everything that it has ever written."""
        self.stop()
        for folder in [*self.folders_elsewhere(), self.folder]:
            shutil.rmtree(folder, ignore_errors=True)

    def folders_elsewhere(self) -> list[Path]:
        """Return folders outside the service's own that `remove` has to delete too."""
        return []

    def require_running(self) -> None:
        if not self.running:
            raise NotRunning(f"{self.name} is not running", f"start it: {services('start', self.name)}")

    # The steps of the commands.

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Lock the service for one command. The lock ends with the command, however that ends."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise self._unusable(error) from error
        with lock:
            self._take(lock)
            yield

    def _take(self, lock: IO[str]) -> None:
        for _ in tries(self.definition.ready_timeout_s + self.definition.stop_timeout_s, pause=0.1):
            with suppress(BlockingIOError):
                return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        raise Locked(f"another command is still at work on {self.name}", "end it, then try again")

    def _start_and_await(self, progress: Progress) -> None:
        for process in self.processes:
            process.forget()
        try:
            for process, command in zip(self.processes, self._prepared(), strict=True):
                self._launch(process, command)
                self._await(partial(self.admits_next, process), progress)
            self._await(self.answers, progress)
            self.settle()
        except BaseException:
            # An interrupted or failed start leaves no process behind.
            self._end_processes()
            raise

    def _prepared(self) -> list[Command]:
        try:
            self._ports_file.write_text(json.dumps(self.ports))
            return self.prepare()
        except OSError as error:
            raise self._unusable(error) from error

    def _launch(self, process: Process, command: Command) -> None:
        try:
            process.start(command)
        except OSError as error:
            raise self._unusable(error) from error

    def _await(self, condition: Callable[[], bool], progress: Progress) -> None:
        bound, announced = self.definition.ready_timeout_s, 0.0
        for waited in tries(bound, pause=0.1):
            answered = condition()
            # The answer must come from our process, and not from one that took the port meanwhile.
            self._require_alive()
            if answered:
                return
            if waited - announced > 10:
                progress(f"{self.name}: waiting for an answer, {waited:.0f} s of at most {bound}")
                announced = waited
        raise self._failed(f"{self.name} did not answer within {bound} s", self.processes[0])

    def _require_alive(self) -> None:
        for process in self.processes:
            if process.launched and process.pid is None:
                raise self._failed(f"{self.name} ended while it was starting", process)

    def _failed(self, what: str, process: Process) -> StartFailed:
        line = log_files.telling_line(process.log)
        return StartFailed(f"{what}: {line}" if line else what, f"see {process.log}")

    def _unusable(self, error: OSError) -> FolderUnusable:
        return FolderUnusable(
            f"{self.name} cannot use {error.filename or self.folder}: {error.strerror or error}",
            "make it writable, or set ALLUVIUM_SERVICES_DIR to another folder",
        )

    def _end_processes(self) -> bool:
        ended = [process.stop(self.stop_signal, self.definition.stop_timeout_s) for process in reversed(self.processes)]
        self._ports_file.unlink(missing_ok=True)
        return any(ended)

    def _require_as_asked(self) -> None:
        ended = [process.name for process in self.processes if process.pid is None]
        if ended:
            raise ServiceError(
                f"{self.name} is running without its {', '.join(ended)}",
                f"stop the rest first: {services('stop', self.name)}",
            )
        if self._asked_port not in (None, self.port):
            raise ServiceError(
                f"{self.name} is running already, on port {self.port} and not {self._asked_port}",
                f"stop it first: {services('stop', self.name)}",
            )

    @property
    def _ports_file(self) -> Path:
        return self.folder / "ports.json"

    def _running_ports(self) -> dict[str, int] | None:
        if not self.running or not self._ports_file.exists():
            return None
        recorded: dict[str, int] = json.loads(self._ports_file.read_text())
        return recorded
