"""The table's own log: which transactions it has seen, and what each commit said of itself."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from common.delta.format.log_entry import Commit, parse_commit
from common.delta.small_files import Files
from common.errors import StateError
from common.settings.pipeline import TRANSACTION_RETENTION
from common.settings.remedies import alter
from common.spark.jvm import delta_snapshot, items_of


class Commits:
    """Read from the log directly: no Spark job, and the transactions that no public API shows."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self._spark = spark
        self._table = table
        self._files = Files(spark, f"{table}/_delta_log")

    def version(self) -> int:
        """The newest version: a listing of the log, no Spark job."""
        return int(self._snapshot().version())

    def transactions(self) -> dict[str, int]:
        """The newest transaction version of every application id.

        From the checksum that Delta writes beside each version: to rebuild the table's state is two Spark jobs. A table
        that forgets transactions is refused: what it does not tell of may have been committed all the same.
        """
        snapshot = self._snapshot()
        self._refuse_forgetful(snapshot)
        checksum = snapshot.checksumOpt()
        known = checksum.get().setTransactions() if checksum.isDefined() else checksum
        found = known.get() if known.isDefined() else snapshot.setTransactions()
        return {str(each.appId()): int(each.version()) for each in items_of(found)}

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
        """The table's schema, partitions and properties, as the log's own entry."""
        return str(self._snapshot().metadata().json())

    def files(self) -> int:
        snapshot = self._snapshot()
        checksum = snapshot.checksumOpt()
        return int(checksum.get().numFiles() if checksum.isDefined() else snapshot.numOfFiles())

    def data_files(self) -> DataFrame:
        """The files of the newest version: path, partitionValues, size and more, a row each."""
        return DataFrame(self._snapshot().allFiles().toDF(), self._spark)

    def _snapshot(self) -> Any:
        return delta_snapshot(self._spark, self._table)

    def backwards(self) -> Iterator[Commit]:
        """From the newest down to the oldest that the log still has."""
        version = self.version()
        while version >= 0 and (commit := self.read(version)) is not None:
            yield commit
            version -= 1

    def read(self, version: int) -> Commit | None:
        text = self._files.read(f"{version:020d}.json")
        return None if text is None else parse_commit(version, text)
