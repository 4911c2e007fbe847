"""Account for a batch before anything of it is written."""

from collections.abc import Sequence
from dataclasses import dataclass

from common.engine.changes import changes_of
from common.engine.context import BatchContext
from common.engine.gaps import check_gaps
from common.engine.materialized_batch import MaterializedBatch
from common.errors import TooManyBadRecords
from common.merge.changes import Changes
from common.model.disposition import MERGE, QUARANTINED
from common.model.offsets import Plan
from common.model.position import Position
from common.rules.accounting import check_plan, check_tally, totals
from common.rules.key_uniqueness import check_keys
from common.rules.pruning import PruneBound, prune_bounds


@dataclass(frozen=True)
class ReconciledBatch:
    """A batch in which every planned offset is explained, with the changes to merge and their prune bounds."""

    rows: MaterializedBatch
    changes: Changes
    dispositions: dict[str, int]
    gaps: int
    bounds: Sequence[PruneBound]

    @property
    def to_merge(self) -> int:
        return self.dispositions[MERGE]


def account(
    context: BatchContext, planned: Plan, batch: MaterializedBatch, before: Position, after: Position
) -> ReconciledBatch:
    """Explain every planned offset, from the rows themselves, or refuse the batch."""
    check_plan(planned, before.offsets)
    context.refuse_recreated()
    target, stats = context.pipeline.target, batch.stats()
    check_tally(stats.tally, planned)
    gaps = check_gaps(batch.gaps, stats.tally, planned, context.topic)
    check_keys(stats.ambiguous, target.keys, target.ordering)
    dispositions = totals(stats.tally)
    refuse_too_many_bad(dispositions, context.pipeline.quality.max_bad_ratio)
    bounds: Sequence[PruneBound] = []
    if dispositions[MERGE]:
        bounds = prune_bounds(stats.value_ranges, stats.types, target.keys, deletes=context.pipeline.deletes)
    return ReconciledBatch(batch, changes_of(batch, context.pipeline, after), dispositions, gaps, bounds)


def refuse_too_many_bad(dispositions: dict[str, int], max_ratio: float) -> None:
    bad, read = dispositions[QUARANTINED], sum(dispositions.values())
    if bad > max_ratio * read:
        raise TooManyBadRecords(
            f"{bad} of {read} records would be quarantined, more than max_bad_ratio {max_ratio:g} allows",
            "nothing was written; correct the producer or the pipeline file, or allow more",
        )
