"""Choose the merge strategy of a batch: the first that does not decline it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.merge.delta_merge import DeltaMerge
from common.merge.driver_rewrite import DriverRewrite
from common.merge.position_only import PositionOnly
from common.merge.request import MergeRequest
from common.merge.spark_rewrite import SparkRewrite
from common.merge.strategy import Declined, MergeStrategy, PreparedMerge

# The cheapest first. The last one declines nothing.
STRATEGIES: Sequence[MergeStrategy] = (PositionOnly(), DriverRewrite(), SparkRewrite(), DeltaMerge())


@dataclass(frozen=True)
class ChosenMerge:
    """A prepared batch, the strategy that prepared it, and the reasons of those that declined."""

    prepared: PreparedMerge
    strategy: str
    declined: Mapping[str, str]


def choose_strategy(request: MergeRequest, strategies: Sequence[MergeStrategy] = STRATEGIES) -> ChosenMerge:
    """Ask the strategies in their order."""
    declined: dict[str, str] = {}
    for strategy in strategies:
        prepared = strategy.prepare(request)
        if not isinstance(prepared, Declined):
            return ChosenMerge(prepared, strategy.name, declined)
        declined[strategy.name] = prepared.reason
    raise AssertionError(f"every strategy declined: {declined}")
