"""Find the candidate files: those that may hold a key of a batch, by Delta Kernel's own data skipping.

Kernel reads the log on the driver. Spark's Delta would first rebuild the table's state, in jobs that take longer than
writing a small batch. No statistics are read here.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from functools import cache, reduce
from typing import Any

import structlog
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from common.delta.format.data_file import DataFile, Entry
from common.model.limits import Limits
from common.rules.pruning import PruneBound, Range, Value
from common.spark.jvm import hadoop_conf, iterated, java, java_message

log = structlog.get_logger()
# In days since 1970.
KERNEL_SHIFTS_FROM, KERNEL_SHIFTS_TO = ((date(1582, 10, day) - date(1970, 1, 1)).days for day in (5, 24))


@dataclass(frozen=True)
class CandidateFiles:
    """All candidates of a batch in one version of a table."""

    files: Sequence[DataFile]

    @property
    def rows(self) -> int:
        """The greatest number of rows that the files can have. Without statistics, a row counts as one byte."""
        return sum(file.size if file.rows is None else file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def have_deletion_vectors(self) -> bool:
        return any(file.has_deletion_vector for file in self.files)


@dataclass(frozen=True)
class CandidatesUnknown:
    """The reason why the candidates of a batch are not known."""

    reason: str


def find_candidate_files(
    spark: SparkSession, path: str, version: int, bounds: Sequence[PruneBound], limits: Limits
) -> CandidateFiles | CandidatesUnknown:
    """Find the candidates in that version of the table, as long as they are within the limits."""
    if not bounds:
        return CandidatesUnknown("no column bounds the batch: every file may hold one of its keys")
    try:
        return within_limits(FileSkipping(spark, path).files(version, bounds), limits)
    except Py4JJavaError as error:
        # Kernel does not know every feature of every table.
        log.warning("Delta Kernel cannot tell the candidate files of this table", cause=java_message(error))
        return CandidatesUnknown(f"Delta Kernel cannot tell the candidate files: {java_message(error)}")


def within_limits(candidates: Generator[DataFile], limits: Limits) -> CandidateFiles | CandidatesUnknown:
    """Collect candidates, and stop as soon as they are too many or too large: nobody needs the rest then."""
    files, size = [], 0
    with closing(candidates):
        for file in candidates:
            files.append(file)
            size += file.size
            if size > limits.candidate_bytes or len(files) > limits.candidate_files:
                return CandidatesUnknown(f"there are at least {len(files)} candidate files with {size} bytes")
    return CandidateFiles(files)


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


def data_file_of(add: Entry) -> DataFile:
    """Read an `add` entry. Delta Kernel gives the statistics where it has skipped files by them."""
    wanted = ("path", "partitionValues", "size", "modificationTime")
    return DataFile(
        path=add["path"],
        partition_values=add["partitionValues"],
        size=add["size"],
        rows=json.loads(add["stats"]).get("numRecords") if add.get("stats") else None,
        has_deletion_vector="deletionVector" in add,
        entry={name: add[name] for name in wanted} | {"dataChange": True},
    )


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
