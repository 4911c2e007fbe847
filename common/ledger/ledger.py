"""The table is the truth: where a pipeline goes on is read from the table's log, and moved only by its commits."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from common.errors import StateError
from common.ledger.commits import Commit, Commits
from common.ledger.files import Files
from common.ledger.position import Position, app_prefix, from_metadata

COPIES_KEPT = 3
TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


class Ledger:
    """The position of one pipeline in one table."""

    def __init__(self, spark: SparkSession, table: str, pipeline: str) -> None:
        self._commits = Commits(spark, table)
        self._copies = Files(spark, f"{table}/_alluvium/{pipeline}")
        self._table = table
        self._pipeline = pipeline

    def position(self) -> Position:
        """Epoch, sequence number and offsets to go on from; an error with the remedy where the log cannot say."""
        version, transactions = self._commits.snapshot()
        epoch = newest_epoch(transactions, self._pipeline)
        if epoch is None:
            raise StateError(
                f"{self._table} has no position of pipeline '{self._pipeline}'",
                "load it with submit/temperatures_delta_processing.sh, or adopt it with submit/epoch.sh --at beginning",
            )
        app_id = f"{app_prefix(self._pipeline)}{epoch}"
        seq = transactions[app_id]
        for commit in self._commits.backwards(version):
            if commit.transactions.get(app_id) == seq:
                return from_metadata(commit.info["userMetadata"])
            self._refuse_replaced(commit)
        return self._copied(epoch, seq)

    def position_of_rows(self) -> Position | None:
        """The position that the table's rows correspond to, also after a RESTORE; None where no commit tells."""
        version, _ = self._commits.snapshot()
        while (commit := self._commits.read(version)) is not None:
            if any(app.startswith(app_prefix(self._pipeline)) for app in commit.transactions):
                return from_metadata(commit.info["userMetadata"])
            if commit.replaces_content and commit.restored_version is None:
                return None
            version = version - 1 if commit.restored_version is None else commit.restored_version
        return None

    def epoch(self) -> int | None:
        """The newest epoch, whether or not it can still be continued."""
        return newest_epoch(self._commits.snapshot()[1], self._pipeline)

    def sequence(self, position: Position) -> int | None:
        """The newest committed sequence number of the position's epoch."""
        return self._commits.snapshot()[1].get(position.app_id)

    def metrics(self, position: Position) -> dict[str, str]:
        """What the commit of this position says of itself."""
        for commit in self._commits.backwards(self._commits.snapshot()[0]):
            if commit.transactions.get(position.app_id) == position.seq:
                return dict(commit.info.get("operationMetrics", {}))
        raise StateError(
            f"{self._table}: the commit of transaction {position.seq} is not in the log", "run the job again"
        )

    def copy(self, position: Position) -> None:
        """Keep the position beside the log: it answers when the log entry has expired."""
        self._copies.write(copy_name(position.epoch, position.seq), position.to_metadata())
        self._copies.delete(copy_name(position.epoch, position.seq - COPIES_KEPT))

    def _copied(self, epoch: int, seq: int) -> Position:
        text = self._copies.read(copy_name(epoch, seq))
        if text is None:
            raise StateError(
                f"{self._table}: the log entry of transaction {seq} has expired and its copy is missing",
                "say where to go on with submit/epoch.sh --at beginning or --at end",
            )
        return from_metadata(text)

    def _refuse_replaced(self, commit: Commit) -> None:
        if commit.replaces_content:
            raise StateError(
                f"{self._table}: version {commit.version} ({commit.operation}) replaced rows that were settled before",
                "go on from what the rows correspond to with submit/epoch.sh --at table",
            )


def newest_epoch(transactions: dict[str, int], pipeline: str) -> int | None:
    prefix = app_prefix(pipeline)
    epochs = [int(app.removeprefix(prefix)) for app in transactions if app.startswith(prefix)]
    return max(epochs, default=None)


def copy_name(epoch: int, seq: int) -> str:
    return f"{epoch}-{seq}.json"


@contextmanager
def transaction(spark: SparkSession, position: Position) -> Iterator[None]:
    """The next Delta commit of this session carries the position. Unset afterwards: a second write under the same id
    would silently be skipped."""
    values = {
        TXN_APP_ID: position.app_id,
        TXN_VERSION: str(position.seq),
        USER_METADATA: position.to_metadata(),
    }
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in values:
            spark.conf.unset(key)
