"""The ledger: a pipeline's position is read from the table's log, and only a commit to the table moves it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import NoReturn, Protocol

from common.delta.format.log_entry import Commit
from common.errors import StateError
from common.model.position import Position, Stamp, app_prefix, from_metadata, pipeline_and_epoch, replay_app_id
from common.settings.remedies import again, new_epoch

COPIES_KEPT = 3
COPY_NAME = re.compile(r"(?P<epoch>\d+)-\d+\.json")


@dataclass(frozen=True)
class LogState:
    """What one look at a table's log shows of the newest version: the newest transaction of every application id, the
    `metaData` entry, and the number of files."""

    version: int
    transactions: Mapping[str, int]
    metadata: str
    files: int


class TableLog(Protocol):
    """The part of a table's log that a ledger reads."""

    def state(self) -> LogState: ...
    def version(self) -> int: ...
    def transactions(self) -> Mapping[str, int]: ...
    def table_id(self) -> str: ...
    def backwards(self, version: int | None = None) -> Iterator[Commit]: ...
    def read(self, version: int) -> Commit | None: ...


class Copies(Protocol):
    """A store for copies of positions, by name."""

    def names(self) -> list[str]: ...
    def read(self, name: str) -> str | None: ...
    def write(self, name: str, text: str) -> None: ...
    def delete(self, name: str) -> None: ...


@dataclass(frozen=True)
class TableState:
    """The position of a pipeline in the newest version of a table, and that version's metadata and files."""

    position: Position
    metadata: str
    files: int


@dataclass(frozen=True)
class Ledger:
    """The position of one pipeline in one table. common.delta.open_ledger opens it on a real table."""

    log: TableLog
    copies: Copies
    table: str
    pipeline: str

    def position(self) -> Position:
        """Return the epoch, transaction and offsets to go on from; raise with the remedy where the log cannot say."""
        return self.state().position

    def state(self) -> TableState:
        """Return the position with what else a batch has to know of the newest version, by one look at the log."""
        found = self.log.state()
        return TableState(self._position_in(found), found.metadata, found.files)

    def _position_in(self, found: LogState) -> Position:
        """Read down to the transaction before the newest. A RESTORE between a run's last look at the log and its commit
        is below that commit, and the rows that it took away are missing all the same."""
        committed = self._epochs(found.transactions)
        if not committed:
            self._refuse_without_position()
        epoch = max(committed)
        app_id, seq = f"{app_prefix(self.pipeline)}{epoch}", committed[epoch]
        newest: Position | None = None
        for commit in self.log.backwards(found.version):
            if app_id not in commit.transactions:
                self._refuse_replaced(commit)
            elif newest is not None:
                return newest
            elif commit.transactions[app_id] == seq:
                newest = from_metadata(commit.info["userMetadata"])
                if seq == 0:
                    return newest
        return newest or self._copied(epoch, seq)

    def _refuse_without_position(self) -> NoReturn:
        others = self.other_pipelines()
        if not others:
            raise StateError(
                f"{self.table} has no position of pipeline '{self.pipeline}'",
                f"adopt it with {new_epoch('beginning')} or {new_epoch('end')}",
            )
        raise StateError(
            f"{self.table} has no position of pipeline '{self.pipeline}', but of {join_epochs(others)}",
            f"name the pipeline that writes it: {again('--pipeline', next(iter(others)))}, or let both write to it: "
            f"{new_epoch('beginning', '--adopt')}",
        )

    def position_of_rows(self) -> Position | None:
        """Return the position that the table's rows correspond to, also after a RESTORE; None where it is unknown."""
        version, newest, restored = self.log.version(), None, False
        while (commit := self.log.read(version)) is not None:
            if self._is_own(commit):
                if newest is not None:
                    return newest
                newest = from_metadata(commit.info["userMetadata"])
                if newest.seq == 0:
                    return newest
            elif commit.replaces_content:
                if commit.restored_version is None:
                    return None
                version, newest, restored = commit.restored_version, None, True
                continue
            version -= 1
        # The copy belongs to the newest transaction, and a RESTORE went back to an older one.
        return newest if newest is not None or restored else self._newest_copy()

    def _is_own(self, commit: Commit) -> bool:
        return any(app.startswith(app_prefix(self.pipeline)) for app in commit.transactions)

    def _newest_copy(self) -> Position | None:
        committed = self.committed()
        copied = self.copies.read(copy_name(max(committed), committed[max(committed)])) if committed else None
        return None if copied is None else from_metadata(copied)

    def committed(self) -> dict[int, int]:
        """Return the newest transaction of every epoch."""
        return self._epochs(self.log.transactions())

    def _epochs(self, transactions: Mapping[str, int]) -> dict[int, int]:
        prefix = app_prefix(self.pipeline)
        return {int(app.removeprefix(prefix)): seq for app, seq in transactions.items() if app.startswith(prefix)}

    def other_pipelines(self) -> dict[str, int]:
        """Return the newest epoch of every other pipeline that has written to this table, by the pipeline's name."""
        epochs: dict[str, int] = {}
        for app in self.log.transactions():
            name, epoch = pipeline_and_epoch(app) or (self.pipeline, 0)
            if name != self.pipeline:
                epochs[name] = max(epoch, epochs.get(name, 0))
        return dict(sorted(epochs.items()))

    def epoch(self) -> int | None:
        """Return the newest epoch, whether or not it can be continued."""
        return max(self.committed(), default=None)

    def greatest_epoch(self) -> int:
        """Return the greatest epoch that the log and the copies know of; 0 without any.

        The log's own list of transactions may have forgotten some. If a number came twice, rows of the older epoch in
        the side tables would look like those of a run that died.
        """
        copied = [int(match["epoch"]) for match in map(COPY_NAME.fullmatch, self.copies.names()) if match]
        return max([*self._epochs_of_log(), *copied], default=0)

    def _epochs_of_log(self) -> Iterable[int]:
        if self.log.version() < 0:
            return []
        if committed := self.committed():
            return committed
        prefix = app_prefix(self.pipeline)
        own = (app for commit in self.log.backwards() for app in commit.transactions if app.startswith(prefix))
        return [int(app.removeprefix(prefix)) for app in islice(own, 1)]

    def replays(self) -> int:
        """Return the number of the newest replay; 0 where there was none."""
        return self.log.transactions().get(replay_app_id(self.pipeline), 0)

    def table_id(self) -> str:
        """Return Delta's own id. A table that was deleted and loaded again at the same path has another one."""
        return self.log.table_id()

    def has(self, stamp: Stamp) -> bool:
        """True where the table has committed exactly this stamp, and not another run's under the same number."""
        return self._commit_of(stamp) is not None

    def metrics(self, stamp: Stamp) -> dict[str, str]:
        """Return the operationMetrics of the commit with this stamp."""
        commit = self._commit_of(stamp)
        if commit is None:
            raise StateError(
                f"{self.table}: transaction {stamp.seq} was committed by another run, this one was skipped",
                "run one job a table; start this one again, it goes on from the table",
            )
        return dict(commit.info.get("operationMetrics", {}))

    def _commit_of(self, stamp: Stamp) -> Commit | None:
        """Find the commit with this stamp, which is mostly the newest.

        Where it is not, the log's own list of transactions shows whether there is one at all. Only then the log is read
        backwards, which takes a file for each version.
        """
        for depth, commit in enumerate(self.log.backwards()):
            seq = commit.transactions.get(stamp.app_id)
            if seq == stamp.seq:
                return commit if commit.info.get("userMetadata") == stamp.to_metadata() else None
            is_below = seq is not None and seq < stamp.seq
            if is_below or (depth == 0 and self.log.transactions().get(stamp.app_id, -1) < stamp.seq):
                return None
        return None

    def copy(self, position: Position) -> None:
        """Write a copy of the position, for when the log entry has expired."""
        self.copies.write(copy_name(position.epoch, position.seq), position.to_metadata())
        self.copies.delete(copy_name(position.epoch, position.seq - COPIES_KEPT))

    def _copied(self, epoch: int, seq: int) -> Position:
        text = self.copies.read(copy_name(epoch, seq))
        if text is None:
            raise StateError(
                f"{self.table}: the log entry of transaction {seq} has expired and its copy is missing",
                f"say where to go on with {new_epoch('beginning')} or {new_epoch('end')}",
            )
        return from_metadata(text)

    def _refuse_replaced(self, commit: Commit) -> None:
        if commit.replaces_content:
            places = ("beginning", "end") if commit.restored_version is None else ("table",)
            raise StateError(
                f"{self.table}: version {commit.version} ({commit.operation}) replaced rows that were settled before",
                f"say where to go on with {' or '.join(map(new_epoch, places))}",
            )


def join_epochs(pipelines: Mapping[str, int]) -> str:
    return ", ".join(f"'{name}' (epoch {epoch})" for name, epoch in pipelines.items())


def copy_name(epoch: int, seq: int) -> str:
    return f"{epoch}-{seq}.json"
