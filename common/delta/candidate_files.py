"""Find the candidate files: those that may hold a key of a batch."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass

import structlog
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from common.delta.file_skipping import FileSkipping
from common.delta.format.data_file import DataFile
from common.model.limits import Limits
from common.rules.pruning import PruneBound
from common.spark.jvm import java_message

log = structlog.get_logger()


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
