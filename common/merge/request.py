"""One batch to be merged, and what its strategies ask about it: answered once, on the newest version of the table."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import SparkSession

from common.delta.candidate_files import CandidateFiles, CandidatesUnknown, find_candidate_files
from common.delta.transaction import DirectTransaction
from common.merge.alignment import Alignment, align
from common.merge.changes import Changes
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.merge_spec import MergeSpec
from common.model.position import Stamp
from common.rules.pruning import PruneBound
from common.settings.locations import Location
from common.settings.pipeline import Pipeline


@dataclass(frozen=True)
class MergeRequest:
    """One attempt at a batch. Its changes, one row a key, are under the pipeline's names."""

    spark: SparkSession
    table: Location
    pipeline: Pipeline
    declared_changes: Changes
    to_merge: int
    declared_bounds: Sequence[PruneBound]
    stamp: Stamp
    limits: Limits = DEFAULT_LIMITS

    @cached_property
    def transaction(self) -> DirectTransaction:
        """Begun once for the attempt: a commit of anybody else after it is a conflict."""
        return DirectTransaction(self.spark, self.table.uri)

    @cached_property
    def alignment(self) -> Alignment:
        undeclared = self.pipeline.target.schema_changes.undeclared
        return align(self.declared_changes.schema, self.transaction.schema, undeclared=undeclared)

    @cached_property
    def changes(self) -> Changes:
        """The changes under the names and in the types of the table."""
        return self.declared_changes.aligned(self.alignment)

    @cached_property
    def bounds(self) -> list[PruneBound]:
        """The bounds under the names and in the types of the table."""
        return self.alignment.bounds(self.declared_bounds)

    @cached_property
    def spec(self) -> MergeSpec:
        return merge_spec(self.pipeline, self.alignment)

    @cached_property
    def candidates(self) -> CandidateFiles | CandidatesUnknown:
        return find_candidate_files(self.spark, self.table.uri, self.transaction.version, self.bounds, self.limits)

    def fenced_transaction(self) -> DirectTransaction:
        """The transaction, safe against a rival under the same id. Where a lock keeps rivals out it is so already;
        elsewhere Delta rebuilds the table's state for it."""
        if self.table.local is None:
            self.transaction.fence(self.stamp)
        return self.transaction


def merge_spec(pipeline: Pipeline, alignment: Alignment) -> MergeSpec:
    """How a pipeline's changes are merged, under the table's names. By position every change is newer than its row,
    because batches arrive in order."""
    target = pipeline.target
    return MergeSpec(
        keys=alignment.names(target.keys),
        columns=alignment.names(pipeline.columns),
        ordering=None if target.ordering is None else alignment.name(target.ordering),
        deletes=pipeline.deletes,
        lineage=target.lineage,
        nulled=alignment.nulled,
    )
