"""One commit through Delta's own transaction, without what its MERGE does besides.

A MERGE reads its source twice and the table's state in two Spark jobs, and joins once to find the files and once more
to rewrite them. Where the candidates are known and few, one job rewrites them: docs/adr/0009-direct-commits.md.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from common.ledger.position import Stamp
from common.merge.kernel import File


class DirectTransaction:
    """Begun on the newest version of a table: a commit of anybody else after it is a conflict."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._jvm = cast("Any", spark._jvm)
        self._delta = self._jvm.org.apache.spark.sql.delta
        # Delta asks the thread, not the caller, which session's settings a commit has.
        self._jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)
        self._log = self._delta.DeltaLog.forTable(spark._jsparkSession, path)
        self._txn = self._log.startTransaction()
        self._txn.readWholeTable()
        self._written: list[Any] = []

    @property
    def version(self) -> int:
        return int(self._txn.readVersion())

    @property
    def schema(self) -> T.StructType:
        return T.StructType.fromJson(json.loads(self._txn.metadata().schema().json()))

    @property
    def files_written(self) -> int:
        return len(self._written)

    @property
    def bytes_written(self) -> int:
        return sum(int(added.size()) for added in self._written)

    def property(self, name: str) -> str | None:
        found = self._txn.metadata().configuration().get(name)
        return str(found.get()) if found.isDefined() else None

    def fence(self, stamp: Stamp) -> None:
        """A rival under the same id becomes a conflict too. Delta rebuilds the table's state for it."""
        self._txn.txnVersion(stamp.app_id)

    def read(self, files: Sequence[File]) -> DataFrame:
        """The rows of these files, all of them."""
        adds = self._seq([self._action("add", file.action()) for file in files])
        nothing = self._jvm.scala.Option.empty()
        return DataFrame(self._log.createDataFrame(self._txn.snapshot(), adds, False, nothing), self._spark)  # noqa: FBT003

    def write(self, rows: DataFrame) -> int:
        """New files, which nobody sees before the commit. Gives how many rows Delta has counted in them."""
        self._written = list(self._list(self._txn.writeFiles(rows._jdf)))
        return sum(int(added.numLogicalRecords().get()) for added in self._written)

    def commit(self, stamp: Stamp, removed: Sequence[File], metrics: Mapping[str, int] | None) -> None:
        """Rows and transaction in one. With metrics it is a MERGE in the table's history, without them an append."""
        gone = [self._action("add", file.action()).remove() for file in removed]
        txn = self._action("txn", {"appId": stamp.app_id, "version": stamp.seq})
        operation = self._append() if metrics is None else self._merge(metrics)
        self._txn.commit(self._seq([txn, *gone, *self._written]), operation)

    def _merge(self, metrics: Mapping[str, int]) -> Any:
        named = self._jvm.java.util.HashMap()
        for name, value in metrics.items():
            metric = self._jvm.org.apache.spark.sql.execution.metric.SQLMetrics.createMetric(
                self._spark.sparkContext._jsc.sc(), name
            )
            metric.set(value)
            named.put(name, metric)
        scala_map = getattr(getattr(self._jvm.scala.collection.immutable, "Map$"), "MODULE$")
        as_scala = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(named)
        self._txn.registerSQLMetrics(self._spark._jsparkSession, getattr(scala_map, "from")(as_scala))
        none, nobody = self._jvm.scala.Option.empty(), self._seq([])
        return getattr(self._delta, "DeltaOperations$Merge")(none, none, none, none, nobody, nobody, nobody)

    def _append(self) -> Any:
        none = self._jvm.scala.Option.empty()
        mode = self._jvm.org.apache.spark.sql.SaveMode.Append
        return getattr(self._delta, "DeltaOperations$Write")(mode, none, none, none, none, none, none, none, none)

    def _action(self, kind: str, content: Mapping[str, Any]) -> Any:
        return self._delta.actions.Action.fromJson(json.dumps({kind: content}))

    def _seq(self, items: Sequence[Any]) -> Any:
        listed = self._jvm.java.util.ArrayList()
        for item in items:
            listed.add(item)
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(listed).toSeq()

    def _list(self, seq: Any) -> Any:
        return self._jvm.scala.jdk.javaapi.CollectionConverters.asJava(seq)
