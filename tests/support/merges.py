"""One batch merged by one strategy, which must not decline it."""

from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame

from common.delta.open_ledger import open_ledger, transaction
from common.engine.commit_metrics import Outcome, outcome
from common.merge.changes import Changes
from common.merge.delta_merge import DeltaMerge
from common.merge.driver_rewrite import DriverRewrite
from common.merge.request import MergeAttempt, MergeRequest, begin_merge
from common.merge.spark_rewrite import SparkRewrite
from common.merge.strategies import PositionOnly, choose_strategy
from common.merge.strategy import MergeStrategy, PreparedMerge
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.position import Position
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from tests.support.bounds import bounds_of
from tests.support.partitions import of_t

DRIVER, SPARK, MERGE = DriverRewrite.name, SparkRewrite.name, DeltaMerge.name
STRATEGIES: dict[str, MergeStrategy] = {DRIVER: DriverRewrite(), SPARK: SparkRewrite(), MERGE: DeltaMerge()}
# What a run may choose from, so that it takes a certain strategy where that does not decline.
CHOICES: dict[str, Sequence[MergeStrategy]] = {
    DRIVER: (PositionOnly(), DriverRewrite(), SparkRewrite(), DeltaMerge()),
    SPARK: (PositionOnly(), SparkRewrite(), DeltaMerge()),
    MERGE: (PositionOnly(), DeltaMerge()),
}


def stamped(seq: int) -> Position:
    return Position("trial", 1, seq, {"t": "id"}, of_t({0: seq}), "run")


def request_of(
    changes: DataFrame,
    path: Path,
    declared: Pipeline,
    *,
    seq: int = 1,
    bounded: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> MergeAttempt:
    """The changes have one row a key; the driver holds them too."""
    given = Changes(changes.schema, lambda: changes, changes.toArrow())
    bounds = bounds_of(changes, declared) if bounded else []
    table = location(str(path))
    spark, count = changes.sparkSession, changes.count()
    return begin_merge(MergeRequest(spark, table, declared, given, count, bounds, stamped(seq), limits))


def only(name: str) -> Sequence[MergeStrategy]:
    return (PositionOnly(), STRATEGIES[name])


def merged_by(name: str, attempt: MergeAttempt) -> Outcome:
    """Commit a batch by this strategy; what it did is told by the commit."""
    return committed(attempt, choose_strategy(attempt, only(name)).prepared)


def committed(attempt: MergeAttempt, prepared: PreparedMerge) -> Outcome:
    request, forecast = attempt.request, prepared.forecast
    stamp = request.stamp
    with transaction(request.spark, stamp):
        prepared.commit(stamp)
    metrics = open_ledger(request.spark, request.table.uri, "trial").metrics(stamp)
    return outcome(metrics, superseded=forecast.superseded, absent=forecast.absent)
