"""The targets of a run: tables that one read feeds, each with its own commits and its own position."""

from collections.abc import Sequence
from dataclasses import dataclass

from common.engine.context import BatchContext
from common.model.offsets import Available
from common.model.position import Position
from common.model.shared_plan import SharedPlan, plan_shared
from common.settings.remedies import tell


@dataclass
class Target:
    """One table of a run, with the position that it has committed last."""

    context: BatchContext
    position: Position

    def tell(self) -> None:
        """Let remedies name this table and its pipeline from here on."""
        tell(PIPELINE=self.context.pipeline.name, DELTA_DIR=str(self.context.table))


def plan_next(targets: Sequence[Target], available: Available) -> SharedPlan:
    """Plan the next read."""
    starts = []
    for target in targets:
        target.tell()
        starts.append(target.context.starting_offsets(target.position, available))
    return plan_shared(starts, available.ends, max_records(targets))


def max_records(targets: Sequence[Target]) -> int:
    """The most records of one read: of several targets the smallest limit counts."""
    return min(target.context.pipeline.source.max_records_per_batch for target in targets)
