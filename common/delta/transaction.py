"""Commit through Delta's own transaction, without the other work of its MERGE.

A MERGE reads its source twice, reads the table's state in two Spark jobs, and joins once to find the files and once
more to rewrite them. Where the candidates are known and few, that takes most of the time:
docs/adr/0009-direct-commits.md.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from common.delta.format.data_file import DataFile
from common.delta.format.table_features import WritableTable, is_on, writable_table
from common.errors import StateError
from common.model.position import Stamp
from common.spark.jvm import (
    delta_log,
    items_of,
    java,
    java_frame,
    java_session,
    scala_object,
    scala_seq,
    spark_context,
)


class DirectTransaction:
    """A transaction on the newest version of a table. A commit of anybody else after its start is a conflict."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        # Delta takes the settings of a commit from the thread's active session, not from the caller's.
        java(spark, "org.apache.spark.sql.SparkSession").setActiveSession(java_session(spark))
        self._log = delta_log(spark, path)
        self._actions = java(spark, "org.apache.spark.sql.delta.actions.Action")
        self._nothing = java(spark, "scala.Option").empty()
        self._txn = self._log.startTransaction()
        self._txn.readWholeTable()
        self._written: list[Any] = []
        self._feed: list[Any] = []

    @property
    def version(self) -> int:
        return int(self._txn.readVersion())

    @cached_property
    def schema(self) -> T.StructType:
        return T.StructType.fromJson(json.loads(self._metadata["schemaString"]))

    @cached_property
    def _metadata(self) -> dict[str, Any]:
        metadata: dict[str, Any] = json.loads(self._txn.metadata().json())["metaData"]
        return metadata

    @property
    def files_written(self) -> int:
        return len(self._written)

    @property
    def bytes_written(self) -> int:
        return sum(int(added.size()) for added in self._written)

    @property
    def feed_files_written(self) -> int:
        return len(self._feed)

    def is_on(self, name: str) -> bool:
        """True where a property of the table is true."""
        return is_on(self._metadata["configuration"], name)

    def writable_table(self) -> WritableTable:
        """Return what a writer of data files has to know; raise UnsupportedTable where only Delta may write."""
        protocol = json.loads(self._txn.protocol().json())["protocol"]
        return writable_table(self._metadata, protocol)

    def fence(self, stamp: Stamp) -> None:
        """Make a rival transaction under the same id a conflict too. Delta rebuilds the table's state for it."""
        if int(self._txn.txnVersion(stamp.app_id)) >= stamp.seq:
            raise StateError(
                f"transaction {stamp.seq} was committed by another run",
                "run one job a table; start this one again, it goes on from the table",
            )

    def read(self, files: Sequence[DataFile]) -> DataFrame:
        """Read all rows of these files."""
        adds = scala_seq(self._spark, [self._action("add", file.action()) for file in files])
        rows = self._log.createDataFrame(self._txn.snapshot(), adds, False, self._nothing)  # noqa: FBT003  no stream
        return DataFrame(rows, self._spark)

    def write(self, rows: DataFrame) -> int:
        """Write new files, which nobody sees before the commit. Return how many rows Delta has counted in them."""
        self._written = items_of(self._txn.writeFiles(java_frame(rows)))
        return self._rows_written

    def adopt(self, entries: Iterable[Mapping[str, Any]], feed: Iterable[Mapping[str, Any]]) -> int:
        """Add new files and files of the change feed by their entries for the log.

        Return how many rows the new files have by these entries.
        """
        self._written = [self._action("add", entry) for entry in entries]
        self._feed = [self._action("cdc", entry) for entry in feed]
        rows = self._rows_written
        # For an append, Delta's own metrics would count only the files that Delta has written itself.
        self._register_metrics(
            {"numFiles": self.files_written, "numOutputRows": rows, "numOutputBytes": self.bytes_written}
        )
        return rows

    def commit(self, stamp: Stamp, removed: Sequence[DataFile], metrics: Mapping[str, int] | None) -> None:
        """Commit rows and stamp at once. With metrics it is a MERGE in the table's history, without them an append."""
        removals = [self._action("add", file.action()).remove() for file in removed]
        # With the time, as Delta's own commands write it. Without one, a table that forgets old transactions forgets
        # this one at once.
        now = int(time.time() * 1000)
        txn = self._action("txn", {"appId": stamp.app_id, "version": stamp.seq, "lastUpdated": now})
        operation = self._append() if metrics is None else self._merge(metrics)
        self._txn.commit(scala_seq(self._spark, [txn, *removals, *self._written, *self._feed]), operation)

    @property
    def _rows_written(self) -> int:
        return sum(int(added.numLogicalRecords().get()) for added in self._written)

    def _register_metrics(self, metrics: Mapping[str, int]) -> None:
        """Set the metrics that the table's history shows for the commit."""
        self._txn.registerSQLMetrics(java_session(self._spark), self._scala_map(metrics))

    def _merge(self, metrics: Mapping[str, int]) -> Any:
        self._register_metrics(metrics)
        operation = java(self._spark, "org.apache.spark.sql.delta.DeltaOperations$Merge")
        nobody = scala_seq(self._spark, [])
        return operation(*[self._nothing] * 4, nobody, nobody, nobody)

    def _append(self) -> Any:
        mode = java(self._spark, "org.apache.spark.sql.SaveMode").Append
        return java(self._spark, "org.apache.spark.sql.delta.DeltaOperations$Write")(mode, *[self._nothing] * 8)

    def _scala_map(self, metrics: Mapping[str, int]) -> Any:
        new_metric = java(self._spark, "org.apache.spark.sql.execution.metric.SQLMetrics").createMetric
        context, named = spark_context(self._spark), java(self._spark, "java.util.HashMap")()
        for name, value in metrics.items():
            metric = new_metric(context, name)
            metric.set(value)
            named.put(name, metric)
        as_scala = java(self._spark, "scala.jdk.javaapi.CollectionConverters").asScala(named)
        return getattr(scala_object(self._spark, "scala.collection.immutable.Map"), "from")(as_scala)

    def _action(self, kind: str, content: Mapping[str, Any]) -> Any:
        return self._actions.fromJson(json.dumps({kind: content}))
