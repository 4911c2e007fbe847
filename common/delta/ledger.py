"""The table is the truth: where a pipeline goes on is read from the table's log, and moved only by its commits."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NoReturn, Protocol

from common.delta.format.log_entry import Commit
from common.errors import StateError
from common.model.position import Position, Stamp, app_prefix, from_metadata, pipeline_and_epoch, replay_app_id
from common.settings.remedies import again, new_epoch

COPIES_KEPT = 3
COPY_NAME = re.compile(r"(?P<epoch>\d+)-\d+\.json")


class TableLog(Protocol):
    """What a ledger asks of a table's log."""

    def version(self) -> int: ...
    def transactions(self) -> dict[str, int]: ...
    def table_id(self) -> str: ...
    def files(self) -> int: ...
    def backwards(self) -> Iterator[Commit]: ...
    def read(self, version: int) -> Commit | None: ...


class Copies(Protocol):
    """Where copies of positions lie, by name."""

    def names(self) -> list[str]: ...
    def read(self, name: str) -> str | None: ...
    def write(self, name: str, text: str) -> None: ...
    def delete(self, name: str) -> None: ...


class Ledger:
    """The position of one pipeline in one table; common.delta.open_ledger opens it on a real one."""

    def __init__(self, log: TableLog, copies: Copies, table: str, pipeline: str) -> None:
        self._commits = log
        self._copies = copies
        self._table = table
        self.pipeline = pipeline

    def position(self) -> Position:
        """Epoch, sequence number and offsets to go on from; an error with the remedy where the log cannot say.

        Down to the transaction before the newest: a RESTORE that landed between a run's last look at the log and its
        commit lies below that commit, and the rows that it took away are missing all the same.
        """
        committed = self.committed()
        if not committed:
            self._refuse_without_position()
        epoch = max(committed)
        app_id, seq = f"{app_prefix(self.pipeline)}{epoch}", committed[epoch]
        found: Position | None = None
        for commit in self._commits.backwards():
            if app_id not in commit.transactions:
                self._refuse_replaced(commit)
            elif found is not None:
                return found
            elif commit.transactions[app_id] == seq:
                found = from_metadata(commit.info["userMetadata"])
                if seq == 0:
                    return found
        return found or self._copied(epoch, seq)

    def _refuse_without_position(self) -> NoReturn:
        others = self.other_pipelines()
        if not others:
            raise StateError(
                f"{self._table} has no position of pipeline '{self.pipeline}'",
                f"adopt it with {new_epoch('beginning')} or {new_epoch('end')}",
            )
        raise StateError(
            f"{self._table} has no position of pipeline '{self.pipeline}', but of {spoken_epochs(others)}",
            f"name the pipeline that writes it: {again('--pipeline', next(iter(others)))}, or let both write to it: "
            f"{new_epoch('beginning', '--adopt')}",
        )

    def position_of_rows(self) -> Position | None:
        """The position that the table's rows correspond to, also after a RESTORE; None where nothing tells."""
        version, found, restored = self._commits.version(), None, False
        while (commit := self._commits.read(version)) is not None:
            if self._is_own(commit):
                if found is not None:
                    return found
                found = from_metadata(commit.info["userMetadata"])
                if found.seq == 0:
                    return found
            elif commit.replaces_content:
                if commit.restored_version is None:
                    return None
                version, found, restored = commit.restored_version, None, True
                continue
            version -= 1
        # The copy is the newest transaction's: what a RESTORE went back to is older.
        return found if found is not None or restored else self._newest_copy()

    def _is_own(self, commit: Commit) -> bool:
        return any(app.startswith(app_prefix(self.pipeline)) for app in commit.transactions)

    def _newest_copy(self) -> Position | None:
        committed = self.committed()
        copied = self._copies.read(copy_name(max(committed), committed[max(committed)])) if committed else None
        return None if copied is None else from_metadata(copied)

    def committed(self) -> dict[int, int]:
        """The newest transaction of every epoch."""
        prefix = app_prefix(self.pipeline)
        transactions = self._commits.transactions()
        return {int(app.removeprefix(prefix)): seq for app, seq in transactions.items() if app.startswith(prefix)}

    def other_pipelines(self) -> dict[str, int]:
        """The newest epoch of every other pipeline that has written to this table, by the pipeline's name."""
        found: dict[str, int] = {}
        for app in self._commits.transactions():
            name, epoch = pipeline_and_epoch(app) or (self.pipeline, 0)
            if name != self.pipeline:
                found[name] = max(epoch, found.get(name, 0))
        return dict(sorted(found.items()))

    def epoch(self) -> int | None:
        """The newest epoch, whether or not it can still be continued."""
        return max(self.committed(), default=None)

    def greatest_epoch(self) -> int:
        """The greatest epoch that was ever begun, by all that tells of one; 0 where nothing does.

        The log's own list of transactions may have forgotten some. A number that came twice would make rows beside the
        table, which the older epoch wrote, look like those of a run that died.
        """
        copied = [int(match["epoch"]) for match in map(COPY_NAME.fullmatch, self._copies.names()) if match]
        return max([*self._epochs_of_log(), *copied], default=0)

    def _epochs_of_log(self) -> Iterable[int]:
        if self._commits.version() < 0:
            return []
        if committed := self.committed():
            return committed
        prefix = app_prefix(self.pipeline)
        own = (app for commit in self._commits.backwards() for app in commit.transactions if app.startswith(prefix))
        return [int(app.removeprefix(prefix)) for app in islice(own, 1)]

    def replays(self) -> int:
        """The number of the newest replay; 0 where there was none."""
        return self._commits.transactions().get(replay_app_id(self.pipeline), 0)

    def table_id(self) -> str:
        """Delta's own id: a table that was deleted and loaded again at the same path has another."""
        return self._commits.table_id()

    def files(self) -> int:
        """How many files the table has now."""
        return self._commits.files()

    def has(self, stamp: Stamp) -> bool:
        """Whether the table has committed exactly this, and not a rival's under the same number."""
        return self._commit_of(stamp) is not None

    def metrics(self, stamp: Stamp) -> dict[str, str]:
        """What the commit with this stamp says of itself."""
        commit = self._commit_of(stamp)
        if commit is None:
            raise StateError(
                f"{self._table}: transaction {stamp.seq} was committed by another run, this one was skipped",
                "run one job a table; start this one again, it goes on from the table",
            )
        return dict(commit.info.get("operationMetrics", {}))

    def _commit_of(self, stamp: Stamp) -> Commit | None:
        """The commit with this stamp. Mostly it is the newest; where it is not, the log's own list of transactions says
        whether it is there at all, before the log is read backwards, a file a version."""
        for depth, commit in enumerate(self._commits.backwards()):
            seq = commit.transactions.get(stamp.app_id)
            if seq == stamp.seq:
                return commit if commit.info.get("userMetadata") == stamp.to_metadata() else None
            is_below = seq is not None and seq < stamp.seq
            if is_below or (depth == 0 and self._commits.transactions().get(stamp.app_id, -1) < stamp.seq):
                return None
        return None

    def copy(self, position: Position) -> None:
        """Keep the position beside the log: it answers when the log entry has expired."""
        self._copies.write(copy_name(position.epoch, position.seq), position.to_metadata())
        self._copies.delete(copy_name(position.epoch, position.seq - COPIES_KEPT))

    def _copied(self, epoch: int, seq: int) -> Position:
        text = self._copies.read(copy_name(epoch, seq))
        if text is None:
            raise StateError(
                f"{self._table}: the log entry of transaction {seq} has expired and its copy is missing",
                f"say where to go on with {new_epoch('beginning')} or {new_epoch('end')}",
            )
        return from_metadata(text)

    def _refuse_replaced(self, commit: Commit) -> None:
        if commit.replaces_content:
            places = ("beginning", "end") if commit.restored_version is None else ("table",)
            raise StateError(
                f"{self._table}: version {commit.version} ({commit.operation}) replaced rows that were settled before",
                f"say where to go on with {' or '.join(map(new_epoch, places))}",
            )


def spoken_epochs(pipelines: Mapping[str, int]) -> str:
    return ", ".join(f"'{name}' (epoch {epoch})" for name, epoch in pipelines.items())


def copy_name(epoch: int, seq: int) -> str:
    return f"{epoch}-{seq}.json"
