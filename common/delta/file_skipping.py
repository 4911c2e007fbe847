"""Which files can hold a key of the batch, by Delta Kernel's own skipping, and never by a reading of statistics here.

Kernel reads the log in the driver: Spark's Delta would first rebuild the table's state, in jobs that take longer than
to write a small batch.
"""

import json
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, reduce
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from common.delta.literals import kernel_literal
from common.delta.pruning import PruneBound, Range
from common.spark.jvm import iterated, java

# In days since 1970.
KERNEL_SHIFTS_FROM, KERNEL_SHIFTS_TO = ((date(1582, 10, day) - date(1970, 1, 1)).days for day in (5, 24))


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


class FileSkipping:
    """Delta Kernel on one table."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._column = java(spark, "io.delta.kernel.expressions.Column")
        self._literal = java(spark, "io.delta.kernel.expressions.Literal")
        self._predicate = java(spark, "io.delta.kernel.expressions.Predicate")
        self._mapper = row_mapper(spark)
        hadoop = spark._jsparkSession.sessionState().newHadoopConf()
        self._engine = java(spark, "io.delta.kernel.defaults.engine.DefaultEngine").create(hadoop)
        self._table = java(spark, "io.delta.kernel.Table").forPath(self._engine, path)

    def files(self, version: int, bounds: Sequence[PruneBound]) -> Generator[File]:
        """The candidates in that version of the table, read as they are asked for; a file without statistics is one."""
        snapshot = self._table.getSnapshotAsOfVersion(self._engine, version)
        scan = snapshot.getScanBuilder().withFilter(self._all(map(self._condition, bounds))).build()
        batches = scan.getScanFiles(self._engine)
        try:
            for batch in iterated(batches):
                rows = json.loads(self._mapper.writeValueAsString(batch.getRows().toInMemoryList()))
                yield from (file_of(row["add"]) for row in rows)
        finally:
            batches.close()

    def _condition(self, bound: PruneBound) -> Any:
        column = self._column(bound.column)
        branches = [self._holds(column, bound, span) for span in bound.ranges]
        return reduce(self._either, [*branches, self._predicate("IS_NULL", column)] if bound.or_null else branches)

    def _holds(self, column: Any, bound: PruneBound, exact: Range) -> Any:
        span = as_kernel_sees(exact, bound.kind)
        first = kernel_literal(self._literal, span.first, bound.kind)
        if span.first == span.last:
            return self._predicate("=", column, first)
        last = kernel_literal(self._literal, span.last, bound.kind)
        return self._all([self._predicate(">=", column, first), self._predicate("<=", column, last)])

    def _all(self, conditions: Any) -> Any:
        return reduce(lambda one, other: self._predicate("AND", one, other), conditions)

    def _either(self, one: Any, other: Any) -> Any:
        return self._predicate("OR", one, other)


def row_mapper(spark: SparkSession) -> Any:
    """Writes many of Kernel's rows as one text: each call of a row's own methods would be a message to the JVM."""
    return found_mapper(
        java(spark, "com.fasterxml.jackson.databind.ObjectMapper"),
        java(spark, "com.fasterxml.jackson.databind.module.SimpleModule"),
        java(spark, "io.delta.kernel.defaults.internal.json.JsonUtils$RowSerializer"),
    )


@cache
def found_mapper(mapper: Any, module: Any, serializer: Any) -> Any:
    return mapper().registerModule(module().addSerializer(serializer()))


def file_of(add: Mapping[str, Any]) -> File:
    """A file by its entry in the log. Kernel has the statistics at hand where it has skipped files by them."""
    return File(
        path=add["path"],
        partition_values=add["partitionValues"],
        size=add["size"],
        modified=add["modificationTime"],
        rows=json.loads(add["stats"]).get("numRecords") if add.get("stats") else None,
        has_deletion_vector="deletionVector" in add,
    )


def as_kernel_sees(span: Range, kind: T.DataType) -> Range:
    """Widen a span of dates so that it holds all of its days wherever Kernel sees them.

    Kernel reads the dates of the log as java.sql.Date, whose calendar goes from 1582-10-04 to 1582-10-15: it takes each
    of the ten days between them for one that is ten days later. So the least date of a file can be as late as
    1582-10-24 to it, although a day of the span is in the file.
    """
    if not isinstance(kind, T.DateType):
        return span
    first, last = int(span.first), int(span.last)
    touches = first <= KERNEL_SHIFTS_TO and last >= KERNEL_SHIFTS_FROM
    return Range(first, max(last, KERNEL_SHIFTS_TO)) if touches else span
