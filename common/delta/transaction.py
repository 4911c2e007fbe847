"""Commit through Delta's own transaction, without the other work of its MERGE.

A MERGE reads its source twice, reads the table's state in two Spark jobs, and joins once to find the files and once
more to rewrite them. Where the candidates are known and few, that takes most of the time:
docs/adr/0009-direct-commits.md.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from common.delta.format.data_file import DataFile, Entry
from common.errors import StateError
from common.model.position import Stamp
from common.settings.locations import Location
from common.spark.jvm import delta_log, items_of, java, java_frame, java_session, spark_context


@dataclass(frozen=True)
class FileChanges:
    """Files that a commit adds, files of the change feed, and files that it removes."""

    added: Sequence[Entry]
    feed: Sequence[Entry]
    removed: Sequence[DataFile]


class DirectTransaction:
    """A transaction on the newest version of a table. A commit of anybody else after its start is a conflict."""

    def __init__(self, spark: SparkSession, table: Location) -> None:
        self._spark, self._table = spark, table
        self._session, self._context = java_session(spark), spark_context(spark)
        # Delta takes the settings of a commit from the thread's active session, not from the caller's.
        java(spark, "org.apache.spark.sql.SparkSession").setActiveSession(self._session)
        self._log = delta_log(spark, table.uri)
        self._actions = java(spark, "org.apache.spark.sql.delta.actions.Action")
        self._nothing = java(spark, "scala.Option").empty()
        self._txn = self._log.startTransaction()
        self._txn.readWholeTable()
        self.version = int(self._txn.readVersion())
        # The entries of the log.
        self.metadata: Entry = json.loads(self._txn.metadata().json())["metaData"]
        self.protocol: Entry = json.loads(self._txn.protocol().json())["protocol"]
        self.schema = T.StructType.fromJson(json.loads(self.metadata["schemaString"]))

    def read(self, files: Sequence[DataFile]) -> DataFrame:
        """Read all rows of these files."""
        adds = self._seq(self._action("add", file.entry) for file in files)
        rows = self._log.createDataFrame(self._txn.snapshot(), adds, False, self._nothing)  # noqa: FBT003  no stream
        return DataFrame(rows, self._spark)

    def write(self, rows: DataFrame) -> list[Entry]:
        """Write new files, which nobody sees before the commit. Return their `add` entries for the log."""
        return [json.loads(added.json())["add"] for added in items_of(self._txn.writeFiles(java_frame(rows)))]

    def fence(self, stamp: Stamp) -> None:
        """Make a rival transaction under the same id a conflict too. Delta rebuilds the table's state for it."""
        if int(self._txn.txnVersion(stamp.app_id)) >= stamp.seq:
            raise StateError(
                f"transaction {stamp.seq} was committed by another run",
                "run one job a table; start this one again, it goes on from the table",
            )

    def commit(self, stamp: Stamp, files: FileChanges, metrics: Mapping[str, int], *, is_merge: bool) -> None:
        """Commit rows and stamp at once, as a MERGE or as an append in the table's history, which shows the metrics.

        For files that Delta has not written itself, it would count nothing by itself.
        """
        # Where a lock keeps rivals out, the transaction is safe against one under the same id already.
        if self._table.local is None:
            self.fence(stamp)
        self._txn.registerSQLMetrics(self._session, self._metrics(metrics))
        # With the time, as Delta's own commands write it. Without one, a table that forgets old transactions forgets
        # this one at once.
        now = int(time.time() * 1000)
        actions = [
            self._action("txn", {"appId": stamp.app_id, "version": stamp.seq, "lastUpdated": now}),
            *(self._action("add", file.entry).remove() for file in files.removed),
            *(self._action("add", entry) for entry in files.added),
            *(self._action("cdc", entry) for entry in files.feed),
        ]
        self._txn.commit(self._seq(actions), self._merge() if is_merge else self._append())

    def _merge(self) -> Any:
        operation, nobody = java(self._spark, "org.apache.spark.sql.delta.DeltaOperations$Merge"), self._seq([])
        return operation(*[self._nothing] * 4, nobody, nobody, nobody)

    def _append(self) -> Any:
        mode = java(self._spark, "org.apache.spark.sql.SaveMode").Append
        return java(self._spark, "org.apache.spark.sql.delta.DeltaOperations$Write")(mode, *[self._nothing] * 8)

    def _metrics(self, metrics: Mapping[str, int]) -> Any:
        """Make a Scala map of Spark's metrics."""
        new_metric = java(self._spark, "org.apache.spark.sql.execution.metric.SQLMetrics").createMetric
        named = java(self._spark, "java.util.HashMap")()
        for name, value in metrics.items():
            metric = new_metric(self._context, name)
            metric.set(value)
            named.put(name, metric)
        as_scala = java(self._spark, "scala.jdk.javaapi.CollectionConverters").asScala(named)
        immutable = getattr(java(self._spark, "scala.collection.immutable.Map$"), "MODULE$")
        return getattr(immutable, "from")(as_scala)

    def _action(self, kind: str, content: Entry) -> Any:
        return self._actions.fromJson(json.dumps({kind: content}))

    def _seq(self, items: Iterable[Any]) -> Any:
        """Make a Scala sequence."""
        listed = java(self._spark, "java.util.ArrayList")()
        for item in items:
            listed.add(item)
        return java(self._spark, "org.apache.spark.api.python.PythonUtils").toSeq(listed)
