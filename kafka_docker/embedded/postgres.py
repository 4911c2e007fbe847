"""A PostgreSQL server from the binaries in conf/jars.lock."""

import secrets
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from kafka_docker.embedded import artifacts, log_files, residence, settings
from kafka_docker.embedded.errors import StartFailed
from kafka_docker.embedded.postgres_wire import Connection, PostgresRefused, Row
from kafka_docker.embedded.process import Command
from kafka_docker.embedded.service import Service
from kafka_docker.embedded.settings import PostgresDefinition

MAINTENANCE_DATABASE = "postgres"
ALREADY_EXISTS = "42P04"


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

    def run(self, sql: str, database: str | None = None, timeout_s: float = 60) -> list[Row]:
        """Run SQL as the owner, in the service's database unless told otherwise."""
        address = (settings.host(), self.port)
        target = database or self.database
        with Connection(
            address, user=self.user, password=self.password, database=target, timeout_s=timeout_s
        ) as connection:
            return connection.run(sql)

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
            return self.run("SELECT 1", MAINTENANCE_DATABASE, timeout_s=5) == [("1",)]
        except (OSError, PostgresRefused):
            return False

    def settle(self) -> None:
        try:
            self.run(f'CREATE DATABASE "{self.database}"', MAINTENANCE_DATABASE)
        except PostgresRefused as refused:
            if refused.sqlstate != ALREADY_EXISTS:
                raise StartFailed(
                    f"{self.name} cannot make its database: {refused}", f"see {self.processes[0].log}"
                ) from refused

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
        """Chosen once: the server stores it when its data are made."""
        if not self.password_file.exists():
            self.password_file.touch(mode=0o600)
            self.password_file.write_text(settings.postgres_password_from_environment() or secrets.token_urlsafe(18))

    def _binaries(self) -> Path:
        (archive,) = artifacts.jar_paths(self.definition.jars)
        into = residence.reachable_folder(artifacts.UNPACKED, self._account)
        return artifacts.unpacked(archive, into) / "bin"

    def _initialise(self, binaries: Path) -> None:
        """Into a folder beside the final one, so that an interrupted initdb is not taken for a database."""
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
