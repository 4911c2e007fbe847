"""Choose the merge strategy of a batch: the first that does not decline it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.delta.transaction import DirectTransaction, FileChanges
from common.merge.delta_merge import DeltaMerge
from common.merge.driver_rewrite import DriverRewrite
from common.merge.request import MergeAttempt
from common.merge.spark_rewrite import SparkRewrite
from common.merge.strategy import Declined, MergeForecast, MergeStrategy, PreparedMerge
from common.model.position import Stamp


class PositionOnly:
    """For a batch of which nothing is to be merged: a commit without rows moves the position."""

    name = "position only"

    def prepare(self, attempt: MergeAttempt) -> "PreparedPosition | Declined":
        to_merge = attempt.request.to_merge
        return Declined(f"{to_merge} rows are to be merged") if to_merge else PreparedPosition(attempt.transaction)


class PreparedPosition:
    """A commit that carries nothing but its transaction."""

    forecast = MergeForecast(candidates=0, superseded=0, absent=0)

    def __init__(self, transaction: DirectTransaction) -> None:
        self._transaction = transaction

    def commit(self, stamp: Stamp) -> None:
        self._transaction.commit(stamp, FileChanges([], [], []), {}, is_merge=False)


# The cheapest first. The last one declines nothing.
STRATEGIES: Sequence[MergeStrategy] = (PositionOnly(), DriverRewrite(), SparkRewrite(), DeltaMerge())


@dataclass(frozen=True)
class ChosenMerge:
    """A prepared batch, the strategy that prepared it, and the reasons of those that declined."""

    prepared: PreparedMerge
    strategy: str
    declined: Mapping[str, str]


def choose_strategy(attempt: MergeAttempt, strategies: Sequence[MergeStrategy] = STRATEGIES) -> ChosenMerge:
    """Ask the strategies in their order."""
    declined: dict[str, str] = {}
    for strategy in strategies:
        prepared = strategy.prepare(attempt)
        if not isinstance(prepared, Declined):
            return ChosenMerge(prepared, strategy.name, declined)
        declined[strategy.name] = prepared.reason
    raise AssertionError(f"every strategy declined: {declined}")
