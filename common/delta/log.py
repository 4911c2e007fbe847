"""Read the table's own log: the transactions that it has, and the info of each commit."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from common.delta.format.log_entry import Commit, parse_commit
from common.delta.small_files import Files
from common.errors import StateError
from common.settings.remedies import alter
from common.settings.target import TRANSACTION_RETENTION
from common.spark.jvm import delta_snapshot, items_of


class Commits:
    """The commits of a table, read from the log without a Spark job, with the transactions that no public API shows."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self._spark = spark
        self._table = table
        self._files = Files(spark, f"{table}/_delta_log")

    def version(self) -> int:
        """Return the newest version, by a listing of the log without a Spark job."""
        return int(self._snapshot().version())

    def transactions(self) -> dict[str, int]:
        """Return the newest transaction version of every application id.

        It is read from the checksum that Delta writes for each version, because rebuilding the table's state takes two
        Spark jobs. A table that forgets transactions is refused: one that it has forgotten may have been committed.
        """
        snapshot = self._snapshot()
        self._refuse_forgetful(snapshot)
        checksum = snapshot.checksumOpt()
        known = checksum.get().setTransactions() if checksum.isDefined() else checksum
        listed = known.get() if known.isDefined() else snapshot.setTransactions()
        return {str(each.appId()): int(each.version()) for each in items_of(listed)}

    def _refuse_forgetful(self, snapshot: Any) -> None:
        if not snapshot.metadata().configuration().contains(TRANSACTION_RETENTION):
            return
        path = self._table.removeprefix("file://")
        clause = f'UNSET TBLPROPERTIES ("{TRANSACTION_RETENTION}")'
        raise StateError(
            f"{path}: with {TRANSACTION_RETENTION} the table forgets transactions, and with them where to go on",
            f"take the property away with {alter(path, clause)}",
        )

    def table_id(self) -> str:
        return str(self._snapshot().metadata().id())

    def metadata(self) -> str:
        """Return the table's schema, partitions and properties, as the `metaData` entry of the log."""
        return str(self._snapshot().metadata().json())

    def files(self) -> int:
        snapshot = self._snapshot()
        checksum = snapshot.checksumOpt()
        return int(checksum.get().numFiles() if checksum.isDefined() else snapshot.numOfFiles())

    def data_files(self) -> DataFrame:
        """Return the files of the newest version, one row each: path, partitionValues, size and more."""
        return DataFrame(self._snapshot().allFiles().toDF(), self._spark)

    def _snapshot(self) -> Any:
        return delta_snapshot(self._spark, self._table)

    def backwards(self) -> Iterator[Commit]:
        """Yield the commits from the newest down to the oldest that the log still has."""
        version = self.version()
        while version >= 0 and (commit := self.read(version)) is not None:
            yield commit
            version -= 1

    def read(self, version: int) -> Commit | None:
        text = self._files.read(f"{version:020d}.json")
        return None if text is None else parse_commit(version, text)
