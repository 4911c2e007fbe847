"""Each scenario, through every strategy and for batches that the driver or Spark holds: one table, one feed, one count.

Delta's MERGE without bounds, on a batch that Spark holds, is what the others are compared with.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import DataFrame, SparkSession

from common.engine.changes import changes_of
from common.engine.materialized_batch import materialize
from common.merge.request import MergeAttempt, MergeRequest, begin_merge
from common.merge.strategy import Declined
from common.model.disposition import DELETED, DISPOSITION, MERGE, MESSAGE, REASON
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.record import RECORD, RECORD_DDL
from common.rules.key_uniqueness import check_keys
from common.rules.pruning import prune_bounds
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from tests.conformance.scenarios import DELETE, NOON, SCENARIOS, Event, Scenario
from tests.support.frames import frame
from tests.support.merges import DRIVER, SPARK, STRATEGIES, committed, stamped
from tests.support.merges import MERGE as DELTA_MERGE


@dataclass(frozen=True)
class Way:
    """A strategy, and who holds the batch."""

    strategy: str
    limits: Limits = DEFAULT_LIMITS
    is_fetched: bool = False
    is_bounded: bool = True


IN_SPARK = Limits(collected_bytes=-1)
REFERENCE = Way(DELTA_MERGE, IN_SPARK, is_bounded=False)
# Whether the driver has fetched or collected a batch makes no difference to what it holds, as
# test_materialized_batch.py shows: scenarios take one in turn, and the long run the other.
IN_TURN = (
    {
        "driver rewrite, fetched": Way(DRIVER, is_fetched=True),
        "Spark rewrite, large": Way(SPARK, IN_SPARK),
        "Delta MERGE, collected": Way(DELTA_MERGE),
    },
    {
        "driver rewrite, collected": Way(DRIVER),
        "Spark rewrite, large": Way(SPARK, IN_SPARK),
        "Delta MERGE, fetched": Way(DELTA_MERGE, is_fetched=True),
    },
)
CASES = [(name, number % 2) for number, name in enumerate(SCENARIOS)]
OTHER_CASES = [pytest.param(name, 1 - turn, marks=pytest.mark.long) for name, turn in CASES]


@pytest.mark.parametrize(("name", "turn"), [*CASES, *OTHER_CASES])
def test_every_strategy_gives_the_same(spark: SparkSession, tmp_path: Path, name: str, turn: int) -> None:
    scenario = SCENARIOS[name]()
    scenario.create(spark, str(tmp_path / "created"))
    wanted = settled(spark, scenario, REFERENCE, tmp_path / "reference")
    for way, how in IN_TURN[turn].items():
        found = settled(spark, scenario, how, tmp_path / way)
        if how.strategy in scenario.declined_by:
            assert found is None, way
        else:
            assert found == wanted, way


def settled(spark: SparkSession, scenario: Scenario, way: Way, path: Path) -> list[Any] | None:
    """What each batch did, the rows of the table, and its change feed. None where the strategy declined a batch."""
    shutil.copytree(path.parent / "created", path)
    before = max(int(entry.stem) for entry in (path / "_delta_log").glob("*.json"))
    told: list[Any] = []
    offset = 0
    for seq, events in enumerate(scenario.batches, start=1):
        request = request_of(classified(spark, scenario.pipeline(), events, offset), scenario, way, path, seq)
        offset += len(events)
        prepared = STRATEGIES[way.strategy].prepare(request)
        if isinstance(prepared, Declined):
            return None
        told.append(committed(request, prepared))
    told.append(sorted(map(str, spark.read.format("delta").load(str(path)).collect())))
    if scenario.is_read_by_others:
        told.append(rows_for_others(path, scenario))
    told.append(feed(spark, path, scenario, before + 1))
    return told


def request_of(rows: DataFrame, scenario: Scenario, way: Way, path: Path, seq: int) -> MergeAttempt:
    """A batch as the engine makes it, from validated events on."""
    declared = scenario.pipeline()
    batch = materialize(rows, declared, way.limits, is_fetched=way.is_fetched).deduplicate()
    assert (batch.arrow is None) == (way.limits is IN_SPARK)
    stats, target = batch.stats(), declared.target
    check_keys(stats.ambiguous, target.keys, target.ordering)
    to_merge = sum(each.dispositions[MERGE] for each in stats.tally.values())
    bounds = prune_bounds(stats.value_ranges, stats.types, target.keys, deletes=declared.deletes)
    changes = changes_of(batch, declared, stamped(seq))
    table = location(str(path))
    used = bounds if way.is_bounded else []
    spark = rows.sparkSession
    return begin_merge(MergeRequest(spark, table, declared, changes, to_merge, used, stamped(seq), way.limits))


def classified(spark: SparkSession, declared: Pipeline, events: list[Event], first: int) -> DataFrame:
    """Validated events, each with its record."""
    columns = declared.source.columns
    deletes = f", {DELETED} boolean" if declared.deletes else ""
    ddl = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
    rows = []
    for number, event in enumerate(events):
        is_delete = event[-1] == DELETE and len(event) < len(columns)
        values = (*event[:-1], *[None] * (len(columns) - len(event) + 1)) if is_delete else event
        record = (b"k", b"v", "t", 0, first + number, NOON)
        rows.append((*values, record, None, None, MERGE, *([is_delete] if declared.deletes else [])))
    schema = f"{ddl}, {RECORD} {RECORD_DDL}, {REASON} string, {MESSAGE} string, {DISPOSITION} string{deletes}"
    return frame(spark, rows, schema)


def rows_for_others(path: Path, scenario: Scenario) -> list[str]:
    table = deltalake.DeltaTable(path).to_pyarrow_table(columns=list(scenario.columns))
    return sorted(map(str, table.to_pylist()))


def feed(spark: SparkSession, path: Path, scenario: Scenario, first: int) -> list[str] | None:
    """The change feed of all batches, by the number of the batch."""
    if "delta.enableChangeDataFeed" not in scenario.properties:
        return None
    changes = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", first)
    rows = changes.load(str(path)).drop("_commit_timestamp").collect()
    return sorted(map(str, rows))
