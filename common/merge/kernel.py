"""Which files can hold a key of the batch, by Delta Kernel's own skipping, and never by a reading of statistics here.

Kernel reads the log in the driver: Spark's Delta would first rebuild the table's state, in jobs that take longer than
to write a small batch.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from pyspark.sql import SparkSession

from common.jvm import java, map_of
from common.merge.bounds import Bound, Span
from common.merge.values import kernel_literal


@dataclass(frozen=True)
class File:
    """A data file of the table, as its log names it."""

    path: str
    partition_values: dict[str, str | None]
    size: int
    modified: int
    # None where the log does not tell.
    rows: int | None
    has_deletion_vector: bool

    def action(self) -> dict[str, Any]:
        """As the log's own entry."""
        return {
            "path": self.path,
            "partitionValues": self.partition_values,
            "size": self.size,
            "modificationTime": self.modified,
            "dataChange": True,
        }


class Kernel:
    """Delta Kernel on one table."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._column = java(spark, "io.delta.kernel.expressions.Column")
        self._literal = java(spark, "io.delta.kernel.expressions.Literal")
        self._predicate = java(spark, "io.delta.kernel.expressions.Predicate")
        self._scan_file = java(spark, "io.delta.kernel.internal.InternalScanFileUtils")
        hadoop = spark._jsparkSession.sessionState().newHadoopConf()
        self._engine = java(spark, "io.delta.kernel.defaults.engine.DefaultEngine").create(hadoop)
        self._table = java(spark, "io.delta.kernel.Table").forPath(self._engine, path)

    def files(self, version: int, bounds: Sequence[Bound]) -> list[File]:
        """The candidates in that version of the table; a file without statistics is one."""
        snapshot = self._table.getSnapshotAsOfVersion(self._engine, version)
        scan = snapshot.getScanBuilder().withFilter(self._all(map(self._condition, bounds))).build()
        return [self._file(row) for row in self._rows(scan.getScanFiles(self._engine))]

    def _rows(self, batches: Any) -> Iterator[Any]:
        try:
            while batches.hasNext():
                rows = batches.next().getRows()
                while rows.hasNext():
                    yield rows.next()
        finally:
            batches.close()

    def _file(self, row: Any) -> File:
        add = row.getStruct(0)
        fields = add.getSchema()
        return File(
            path=add.getString(fields.indexOf("path")),
            partition_values=map_of(self._scan_file.getPartitionValues(row)),
            size=add.getLong(fields.indexOf("size")),
            modified=add.getLong(fields.indexOf("modificationTime")),
            rows=self._counted(add, fields.indexOf("stats")),
            has_deletion_vector=not add.isNullAt(fields.indexOf("deletionVector")),
        )

    def _counted(self, add: Any, place: int) -> int | None:
        """Kernel has the statistics at hand where it has skipped files by them."""
        if place < 0 or add.isNullAt(place):
            return None
        found: int | None = json.loads(add.getString(place)).get("numRecords")
        return found

    def _condition(self, bound: Bound) -> Any:
        column = self._column(bound.column)
        branches = [self._holds(column, bound, span) for span in bound.spans]
        return reduce(self._either, [*branches, self._predicate("IS_NULL", column)] if bound.or_null else branches)

    def _holds(self, column: Any, bound: Bound, span: Span) -> Any:
        first = kernel_literal(self._literal, span.first, bound.kind)
        if span.first == span.last:
            return self._predicate("=", column, first)
        last = kernel_literal(self._literal, span.last, bound.kind)
        return self._all([self._predicate(">=", column, first), self._predicate("<=", column, last)])

    def _all(self, conditions: Any) -> Any:
        return reduce(lambda one, other: self._predicate("AND", one, other), conditions)

    def _either(self, one: Any, other: Any) -> Any:
        return self._predicate("OR", one, other)
