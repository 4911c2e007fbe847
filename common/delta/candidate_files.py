"""How much of the table a batch can touch: the files that may hold one of its keys, and what may be done with them."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

import structlog
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.file_skipping import File, FileSkipping
from common.delta.pruning import PruneBound, condition_of
from common.delta.transaction import DirectTransaction
from common.merge.delta_merge import same_key
from common.spark.jvm import said

log = structlog.get_logger()
# More than that to rewrite, and Delta's MERGE, which first looks which of the candidates it must, is the better way.
REWRITE_BYTES = 64 * 2**20
# Each of them is opened, however small it is.
REWRITE_FILES = 2_000
ONE_TASK_BYTES = 4 * 2**20
# So much is read, joined and written by the driver itself. Files of few bytes can hold many rows, which it has to hold.
BY_HAND_BYTES = 8 * 2**20
BY_HAND_ROWS = 1_500_000
# What only Delta's own commands know how to keep.
NOT_DIRECT = ("delta.enableChangeDataFeed", "delta.enableRowTracking")


@dataclass(frozen=True)
class CandidateFiles:
    """The candidates in the version that a transaction has begun on."""

    transaction: DirectTransaction
    files: Sequence[File]

    def is_direct(self, changes: T.StructType) -> bool:
        """Whether these files may be rewritten, or appended to where there are none, in a commit of our own."""
        return fits(changes, self.transaction.schema) and (not self.files or self._is_plain())

    @property
    def is_small(self) -> bool:
        """So little that one task rewrites it sooner than several would share it out."""
        return self._bytes <= ONE_TASK_BYTES

    @property
    def fits_driver(self) -> bool:
        """The driver's own, several times over."""
        return self._bytes <= BY_HAND_BYTES and self.rows <= BY_HAND_ROWS

    @property
    def rows(self) -> int:
        """At most: where the log does not tell, a row has at least a byte."""
        return sum(file.size if file.rows is None else file.rows for file in self.files)

    @property
    def _bytes(self) -> int:
        return sum(file.size for file in self.files)

    def _is_plain(self) -> bool:
        kept_by_delta = any(self.transaction.is_on(name) for name in NOT_DIRECT)
        has_vectors = any(file.has_deletion_vector for file in self.files)
        return not kept_by_delta and not has_vectors and self._bytes <= REWRITE_BYTES


def fits(changes: T.StructType, table: T.StructType) -> bool:
    """A direct commit casts nothing: where the table was made with other types, the MERGE does it."""
    kinds = {field.name: field.dataType.simpleString() for field in changes}
    return all(kinds.get(field.name, kind) == kind for field in table for kind in [field.dataType.simpleString()])


def find_candidate_files(
    spark: SparkSession, path: str, bounds: Sequence[PruneBound], transaction: DirectTransaction | None = None
) -> CandidateFiles | None:
    """None where nothing bounds the batch, where there are more candidates than a commit of our own would rewrite, or
    where Kernel does not know a feature of the table."""
    if not bounds:
        return None
    transaction = transaction or DirectTransaction(spark, path)
    try:
        files = within_limits(FileSkipping(spark, path).files(transaction.version, bounds))
    except Py4JJavaError as error:
        log.warning("Delta Kernel cannot tell the candidate files of this table", cause=said(error))
        return None
    return None if files is None else CandidateFiles(transaction, files)


def within_limits(candidates: Generator[File]) -> list[File] | None:
    """All candidates; None as soon as they are too many or too large, because nobody needs the rest then."""
    found, size = [], 0
    with closing(candidates):
        for file in candidates:
            found.append(file)
            size += file.size
            if size > REWRITE_BYTES or len(found) > REWRITE_FILES:
                log.info("Delta's MERGE finds the files of this batch", candidates_at_least=len(found), bytes=size)
                return None
    return found


def rows_outside_bounds(
    table: DeltaTable, changes: DataFrame, keys: Sequence[str], bounds: Sequence[PruneBound]
) -> DataFrame:
    """Changes whose key has a row outside of the bounds: there must not be any, or the bounds are not sound."""
    inside = condition_of(bounds)
    outside = table.alias("t").toDF()
    if inside is not None:
        outside = outside.where(~inside)
    return changes.alias("s").join(outside, on=F.expr(same_key(keys)), how="left_semi")
