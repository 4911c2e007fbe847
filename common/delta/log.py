"""Read the table's own log: the transactions that it has, and the info of each commit."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from common.delta.format.log_entry import Commit, parse_commit
from common.delta.ledger import LogState
from common.delta.small_files import Files
from common.errors import StateError
from common.settings.remedies import alter
from common.settings.target import TRANSACTION_RETENTION
from common.spark.jvm import delta_snapshot, items_of


@dataclass(frozen=True)
class Commits:
    """The commits of a table, read from the log without a Spark job, with the transactions that no public API shows."""

    spark: SparkSession
    table: str

    def state(self) -> LogState:
        """Look at the newest version once.

        Transactions and the number of files are read from the checksum that Delta writes for each version, because
        rebuilding the table's state takes two Spark jobs. A table that forgets transactions is refused: one that it has
        forgotten may have been committed.
        """
        snapshot = delta_snapshot(self.spark, self.table)
        found = snapshot.checksumOpt()
        checksum = found.get() if found.isDefined() else None
        known = found if checksum is None else checksum.setTransactions()
        listed = items_of(known.get() if known.isDefined() else snapshot.setTransactions())
        metadata = str(snapshot.metadata().json())
        self._refuse_forgetful(json.loads(metadata)["metaData"]["configuration"])
        return LogState(
            version=int(snapshot.version()),
            transactions={str(each.appId()): int(each.version()) for each in listed},
            metadata=metadata,
            files=int(snapshot.numOfFiles() if checksum is None else checksum.numFiles()),
        )

    def version(self) -> int:
        """Return the newest version, by a listing of the log without a Spark job."""
        return int(self._snapshot().version())

    def transactions(self) -> Mapping[str, int]:
        """Return the newest transaction version of every application id."""
        return self.state().transactions

    def _refuse_forgetful(self, properties: Mapping[str, str]) -> None:
        if TRANSACTION_RETENTION not in properties:
            return
        path = self.table.removeprefix("file://")
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

    def data_files(self) -> DataFrame:
        """Return the files of the newest version, one row each: path, partitionValues, size and more."""
        return DataFrame(self._snapshot().allFiles().toDF(), self.spark)

    def _snapshot(self) -> Any:
        return delta_snapshot(self.spark, self.table)

    def backwards(self, version: int | None = None) -> Iterator[Commit]:
        """Yield the commits from this version, or from the newest, down to the oldest that the log still has."""
        version = self.version() if version is None else version
        while version >= 0 and (commit := self.read(version)) is not None:
            yield commit
            version -= 1

    @cached_property
    def _files(self) -> Files:
        return Files(self.spark, f"{self.table}/_delta_log")

    def read(self, version: int) -> Commit | None:
        text = self._files.read(f"{version:020d}.json")
        return None if text is None else parse_commit(version, text)
