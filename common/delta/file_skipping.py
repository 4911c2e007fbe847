"""Find the files that can hold a key of the batch, by Delta Kernel's own data skipping. No statistics are read here.

Kernel reads the log on the driver. Spark's Delta would first rebuild the table's state, in jobs that take longer than
writing a small batch.
"""

import json
from collections.abc import Generator, Sequence
from datetime import date
from functools import cache, reduce
from typing import Any

from pyspark.sql import SparkSession

from common.delta.format.data_file import DataFile, data_file_of
from common.rules.pruning import PruneBound, Range, Value
from common.spark.jvm import hadoop_conf, iterated, java

# In days since 1970.
KERNEL_SHIFTS_FROM, KERNEL_SHIFTS_TO = ((date(1582, 10, day) - date(1970, 1, 1)).days for day in (5, 24))


class FileSkipping:
    """Delta Kernel on one table."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._column = java(spark, "io.delta.kernel.expressions.Column")
        self._literal = java(spark, "io.delta.kernel.expressions.Literal")
        self._predicate = java(spark, "io.delta.kernel.expressions.Predicate")
        self._mapper = row_mapper(spark)
        self._engine = java(spark, "io.delta.kernel.defaults.engine.DefaultEngine").create(hadoop_conf(spark))
        self._table = java(spark, "io.delta.kernel.Table").forPath(self._engine, path)

    def files(self, version: int, bounds: Sequence[PruneBound]) -> Generator[DataFile]:
        """Yield the candidates in that version of the table, lazily. A file without statistics is always one."""
        snapshot = self._table.getSnapshotAsOfVersion(self._engine, version)
        scan = snapshot.getScanBuilder().withFilter(self._all(map(self._condition, bounds))).build()
        batches = scan.getScanFiles(self._engine)
        try:
            for batch in iterated(batches):
                rows = json.loads(self._mapper.writeValueAsString(batch.getRows().toInMemoryList()))
                yield from (data_file_of(row["add"]) for row in rows)
        finally:
            batches.close()

    def _condition(self, bound: PruneBound) -> Any:
        column = self._column(bound.column)
        branches = [self._holds(column, bound, each) for each in bound.ranges]
        return reduce(self._either, [*branches, self._predicate("IS_NULL", column)] if bound.or_null else branches)

    def _holds(self, column: Any, bound: PruneBound, exact: Range) -> Any:
        widened = as_kernel_sees(exact, bound.type)
        first = kernel_literal(self._literal, widened.first, bound.type)
        if widened.first == widened.last:
            return self._predicate("=", column, first)
        last = kernel_literal(self._literal, widened.last, bound.type)
        return self._all([self._predicate(">=", column, first), self._predicate("<=", column, last)])

    def _all(self, conditions: Any) -> Any:
        return reduce(lambda one, other: self._predicate("AND", one, other), conditions)

    def _either(self, one: Any, other: Any) -> Any:
        return self._predicate("OR", one, other)


def row_mapper(spark: SparkSession) -> Any:
    """Return a mapper that writes many of Kernel's rows as one text, because each call is a message to the JVM."""
    return cached_mapper(
        java(spark, "com.fasterxml.jackson.databind.ObjectMapper"),
        java(spark, "com.fasterxml.jackson.databind.module.SimpleModule"),
        java(spark, "io.delta.kernel.defaults.internal.json.JsonUtils$RowSerializer"),
    )


@cache
def cached_mapper(mapper: Any, module: Any, serializer: Any) -> Any:
    return mapper().registerModule(module().addSerializer(serializer()))


def kernel_literal(literals: Any, value: Value, kind: str) -> Any:
    """Write a value as a Delta Kernel literal of its column's own type."""
    if isinstance(value, str):
        return literals.ofString(value)
    if kind == "date":
        return literals.ofDate(value)
    if kind == "timestamp":
        return literals.ofTimestamp(value)
    return literals.ofLong(value) if kind == "bigint" else literals.ofInt(value)


def as_kernel_sees(exact: Range, kind: str) -> Range:
    """Widen a range of dates so that it holds all of its days wherever Kernel sees them.

    Kernel reads the dates of the log as java.sql.Date, whose calendar goes from 1582-10-04 to 1582-10-15. It takes each
    of the ten days between them for one that is ten days later. So Kernel may see a least date as late as 1582-10-24,
    although the file has a day of the range.
    """
    if kind != "date":
        return exact
    first, last = int(exact.first), int(exact.last)
    touches = first <= KERNEL_SHIFTS_TO and last >= KERNEL_SHIFTS_FROM
    return Range(first, max(last, KERNEL_SHIFTS_TO)) if touches else exact
