"""A PostgreSQL server from the binaries in conf/jars.lock."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import psycopg
from psycopg import sql
from psycopg.abc import Query
from psycopg.errors import DuplicateDatabase

from common.errors import first_line
from kafka_docker.embedded import artifacts, log_files, residence, settings
from kafka_docker.embedded.errors import StartFailed
from kafka_docker.embedded.process import Command
from kafka_docker.embedded.service import Service
from kafka_docker.embedded.settings import PostgresDefinition

MAINTENANCE_DATABASE = "postgres"
Row = tuple[Any, ...]


class Postgres(Service[PostgresDefinition]):
    """One of the three databases, by name."""

    # PostgreSQL's "fast" shutdown: SIGTERM would wait for every client to leave.
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT

    def __init__(
        self,
        home: Path,
        port: int | None = None,
        ports: Mapping[str, int] | None = None,
        name: str = "postgres-source",
    ) -> None:
        super().__init__(settings.definition(PostgresDefinition, name), home, port, ports)
        self.user = self.definition.user
        self.database = self.definition.database
        self._account = residence.account_instead_of_root(self.definition.run_as)

    @property
    def password_file(self) -> Path:
        return self.folder / "password"

    @property
    def password(self) -> str:
        return self.password_file.read_text()

    def run(self, statements: Query, database: str | None = None, timeout_s: float = 60) -> list[Row]:
        """Run all statements as the owner, in the service's database unless another is named, and return their rows."""
        with self._connected(database or self.database, timeout_s) as connection, _cut_after(connection, timeout_s):
            results = connection.execute(statements).results()
            return [row for each in results if each.description for row in each]

    def _connected(self, database: str, timeout_s: float) -> psycopg.Connection[Row]:
        return psycopg.connect(
            host=settings.host(),
            port=self.port,
            user=self.user,
            password=self.password,
            dbname=database,
            connect_timeout=int(timeout_s),
            autocommit=True,
            # Set here, so that no environment variable changes it: plain text is enough on loopback, and another
            # server on the port does not get the password.
            sslmode="disable",
            gssencmode="disable",
            require_auth="scram-sha-256",
        )

    def prepare(self) -> list[Command]:
        self._keep_password()
        binaries = self._binaries()
        if not self._data_link.exists():
            self._initialise(binaries)
        argv = [str(binaries / "postgres"), "-D", str(self._data_link.resolve())]
        for key, value in self._server_settings().items():
            argv += ["-c", f"{key}={value}"]
        return [Command(argv=argv, account=self._account)]

    def answers(self) -> bool:
        try:
            return self.run("SELECT 1", MAINTENANCE_DATABASE, timeout_s=5) == [(1,)]
        except (OSError, psycopg.Error):  # of the first kind: its password is gone
            return False

    def settle(self) -> None:
        create = sql.SQL("CREATE DATABASE {}").format(sql.Identifier(self.database))
        try:
            with suppress(DuplicateDatabase):
                self.run(create, MAINTENANCE_DATABASE)
        except psycopg.Error as error:
            raise StartFailed(
                f"{self.name} cannot make its database: {first_line(error)}", f"see {self.processes[0].log}"
            ) from error

    def folders_elsewhere(self) -> list[Path]:
        return [self._data_link.resolve().parent] if self._data_link.is_symlink() else []

    @property
    def _data_link(self) -> Path:
        """The data, or a link to them where PostgreSQL's account cannot reach our folder."""
        return self.folder / "data"

    def _server_settings(self) -> dict[str, settings.Value]:
        # No Unix socket: its path is limited to about 100 characters, and every client here has a port.
        return self.definition.settings | {
            "listen_addresses": settings.host(),
            "port": self.port,
            "unix_socket_directories": "",
        }

    def _keep_password(self) -> None:
        """Choose the password once, because the server stores it when its data are made."""
        if not self.password_file.exists():
            self.password_file.touch(mode=0o600)
            self.password_file.write_text(settings.postgres_password_from_environment() or secrets.token_urlsafe(18))

    def _binaries(self) -> Path:
        (archive,) = artifacts.jar_paths(self.definition.jars)
        into = residence.reachable_folder(artifacts.UNPACKED, self._account)
        return artifacts.unpacked(archive, into) / "bin"

    def _initialise(self, binaries: Path) -> None:
        """Run initdb in a folder beside the final one, so that an interrupted one is not taken for a database."""
        self.folder.chmod(0o711)
        place = residence.reachable_folder(self.folder, self._account)
        partial = place / "data.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        residence.hand_over(partial, self._account)
        self._initdb(binaries, partial)
        partial.rename(place / "data")
        if place != self.folder:
            self._data_link.symlink_to(place / "data")

    def _initdb(self, binaries: Path, data: Path) -> None:
        log = self.folder / "initdb.log"
        password = data.parent / "password.initdb"
        password.touch(mode=0o600)
        password.write_text(self.password)
        residence.hand_over(password, self._account)
        command = [str(binaries / "initdb"), "-D", str(data), "-U", self.user, f"--pwfile={password}"]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-instructions", "--no-sync"]
        try:
            with log.open("wb") as output:
                done = subprocess.run(
                    command,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd="/",
                    check=False,
                    user=self._account.uid,
                    group=self._account.gid,
                    extra_groups=self._account.groups,
                )
        finally:
            password.unlink()
        if done.returncode != 0:
            raise StartFailed(f"{self.name} cannot make its data: {log_files.telling_line(log)}", f"see {log}")


@contextmanager
def _cut_after(connection: psycopg.Connection[Row], seconds: float) -> Iterator[None]:
    """Cut the connection when the time is over: psycopg bounds the log-in only, and a paused server says nothing."""
    with socket.socket(fileno=os.dup(connection.fileno())) as line:
        timer = threading.Timer(seconds, _cut, [line])
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _cut(line: socket.socket) -> None:
    with suppress(OSError):  # the server was faster
        line.shutdown(socket.SHUT_RDWR)
