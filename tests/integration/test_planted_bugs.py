"""A bug planted in each stage, which drops, doubles or misroutes one row: the accounts must notice every one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta import side_tables
from common.delta.ledger import Ledger
from common.engine import batch, materialized_batch
from common.engine.source import RowsSource
from common.engine.stage_timer import StageTimer
from common.engine.start import Inputs, RunState, start_from_table
from common.errors import AccountingError, CommitMismatch
from common.kafka.topic import TopicClient
from common.merge import delta_merge
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.offsets import Plan
from common.spark import classify as judge
from common.spark import deduplicate as spark_deduplicate
from common.spark.decode.json import JsonDecoder
from common.spark.source import read_range
from tests.support.broker import Broker
from tests.support.partitions import of_topic
from tests.support.trial import Trial, event

Bug = Callable[[DataFrame], DataFrame]
OFFSET = "_record.offset"


@dataclass(frozen=True)
class Scene:
    """Four records: one key once, another twice, and a broken one. No bug commits anything, so all share it."""

    trial: Trial
    start: RunState
    planned: Plan

    def rows(self) -> DataFrame:
        return read_range(self.trial.spark, self.trial.inputs().topic, self.planned)

    def settle(self, rows: DataFrame, accounts: str = "few") -> None:
        limits = Limits(collected_bytes=-1) if accounts == "large" else DEFAULT_LIMITS
        context, source = replace(self.start.context, limits=limits), RowsSource(rows, is_fetched=accounts == "few")
        batch.run_batch(context, self.start.position, self.planned, source, StageTimer())


@pytest.fixture(scope="module")
def scene(spark: SparkSession, broker: Broker, loaded: Path, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    trial = Trial(spark, broker, broker.create_topic(), tmp_path_factory.mktemp("planted"), loaded)
    records = [event(10, "b", 0.0), event(11, "b", 1.0), event(11, "b", 2.0), (b"x", b"not json")]
    broker.produce(trial.topic, records, partition=0)
    start = start_from_table(spark, Inputs(trial.pipeline, trial.table, TopicClient(broker.address, trial.topic)))
    return Scene(trial, start, Plan(of_topic(trial.topic, {0: 0}), of_topic(trial.topic, {0: 4})))


@pytest.fixture(params=["few", "many", "large"])
def accounts(request: pytest.FixtureRequest) -> str:
    """Counted by the driver, where a few records are only there and many in Spark too; or by queries."""
    return str(request.param)


def without(offset: int) -> Bug:
    return lambda rows: rows.where(F.col(OFFSET) != offset)


def doubled(offset: int) -> Bug:
    return lambda rows: rows.union(rows.where(F.col(OFFSET) == offset))


def with_(column: str, values: dict[int, str | None]) -> Bug:
    """Another value in a column of the engine's own, by offset."""

    def bug(rows: DataFrame) -> DataFrame:
        value = F.col(column)
        for offset, other in values.items():
            value = F.when(F.col(OFFSET) == offset, F.lit(other)).otherwise(value)
        return rows.withColumn(column, value)

    return bug


def after(real: Callable[..., DataFrame], bug: Bug) -> Callable[..., DataFrame]:
    return lambda *given: bug(real(*given))


def nothing_was_written(trial: Trial) -> bool:
    return trial.version() == 0 and trial.quarantined() == []


@pytest.mark.parametrize(
    ("bug", "said"),
    [
        (lambda rows: rows.where("offset != 2"), "offset 2 is in the log and was not read"),
        (lambda rows: rows.where("offset < 3"), "offset 3 is in the log and was not read"),
        (lambda rows: rows.union(rows.where("offset = 1")), "5 rows have 4 offsets"),
        (lambda rows: rows.selectExpr("* EXCEPT (offset)", "offset + 1 AS offset"), "are not in the plan"),
        (lambda rows: rows.selectExpr("* EXCEPT (partition)", "partition + 1 AS partition"), "are not in the plan"),
    ],
    ids=["lost", "last lost", "doubled", "wrong offset", "wrong partition"],
)
def test_a_bug_in_reading(scene: Scene, accounts: str, bug: Bug, said: str) -> None:
    with pytest.raises(AccountingError, match=said):
        scene.settle(bug(scene.rows()), accounts)
    assert nothing_was_written(scene.trial)


@pytest.mark.parametrize(
    ("stage", "bug", "said"),
    [
        ("with_event", without(1), "offset 1 is in the log and was not read"),
        ("with_event", doubled(1), "5 rows have 4 offsets"),
        ("with_derived", without(0), "offset 0 is in the log and was not read"),
        ("with_reason", doubled(3), "5 rows have 4 offsets"),
        ("with_reason", with_("_reason", {3: None}), "1 rows have a fate that is not theirs"),
        ("with_disposition", without(2), "offset 2 is in the log and was not read"),
        ("with_disposition", doubled(2), "5 rows have 4 offsets"),
        ("with_disposition", with_("_disposition", {0: None}), "4 rows were read, 3 have a fate"),
        ("with_disposition", with_("_disposition", {0: "lost"}), "4 rows were read, 3 have a fate"),
        ("with_disposition", with_("_disposition", {0: "quarantined"}), "1 rows have a fate that is not theirs"),
        ("with_disposition", with_("_disposition", {0: "late", 3: "null"}), "1 rows have a fate that is not theirs"),
        ("with_disposition", with_("_disposition", {3: "merge"}), "1 rows have a fate that is not theirs"),
        (
            "with_disposition",
            with_("_disposition", {0: "folded"}),
            "key id=10, part=b: 0 of its 1 rows are to be merged",
        ),
        ("with_disposition", with_("_disposition", {2: "folded"}), "key id=11, part=b: an older row"),
    ],
)
def test_a_bug_in_judging(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, accounts: str, stage: str, bug: Bug, said: str
) -> None:
    place: Any = JsonDecoder if stage == "with_event" else judge
    monkeypatch.setattr(place, stage, after(getattr(place, stage), bug))
    with pytest.raises(AccountingError, match=said):
        scene.settle(scene.rows(), accounts)
    assert nothing_was_written(scene.trial)


def test_a_bug_in_folding(scene: Scene, monkeypatch: pytest.MonkeyPatch, accounts: str) -> None:
    monkeypatch.setattr(materialized_batch, "deduplicate", lambda rows, *_: rows)
    monkeypatch.setattr(spark_deduplicate, "deduplicate", lambda rows, _: rows)
    with pytest.raises(AccountingError, match="key id=11, part=b: 2 of its 2 rows are to be merged"):
        scene.settle(scene.rows(), accounts)
    assert nothing_was_written(scene.trial)


@pytest.mark.parametrize("disposition", ["folded", "late"])
def test_a_fold_that_takes_what_was_turned_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, disposition: str
) -> None:
    def bug(rows: pa.Table, *_: Any) -> pa.Table:
        dispositions = ["merge", "folded", "merge", disposition]
        return rows.set_column(rows.schema.get_field_index("_disposition"), "_disposition", pa.array(dispositions))

    monkeypatch.setattr(materialized_batch, "deduplicate", bug)
    with pytest.raises(AccountingError, match="1 rows have a fate that is not theirs"):
        scene.settle(scene.rows())
    assert nothing_was_written(scene.trial)


def twice(real: Callable[..., None]) -> Callable[..., None]:
    def wrapped(*given: Any) -> None:
        real(*given)
        real(*given)

    return wrapped


@pytest.mark.parametrize(
    ("bug", "found"),
    [
        (lambda real: lambda rows, *more: real(rows.limit(0), *more), 0),
        (lambda real: lambda rows, *more: real(rows.union(rows), *more), 2),
        (twice, 2),
    ],
    ids=["lost", "doubled", "written twice"],
)
def test_a_bug_beside_the_table(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, bug: Callable[..., Callable[..., None]], found: int
) -> None:
    monkeypatch.setattr(side_tables, "append_side", bug(side_tables.append_side))
    with pytest.raises(AccountingError, match=f"1 rows were to stand in .*_quarantine, its log says {found}"):
        scene.settle(scene.rows())
    assert nothing_was_written(scene.trial)


@pytest.mark.usefixtures("by_merge")
def test_a_bug_in_the_merge_or_its_figures(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """A MERGE is its own commit: what it did wrong stands, and the run stops naming the figures."""
    merge, metrics = delta_merge.merge_changes, Ledger.metrics

    def settle(where: object, name: str, bug: Callable[..., Any], *records: tuple[bytes, bytes]) -> None:
        trial.broker.produce(trial.topic, list(records), partition=0)
        with monkeypatch.context() as patched:
            patched.setattr(where, name, bug)
            trial.run("batch")

    def merging(bug: Bug) -> Callable[..., None]:
        return lambda table, changes, *more: merge(table, bug(changes), *more)

    def guarding(*given: Any) -> None:
        """By a column that this pipeline's events are not ordered by: the older of two is left as it was."""
        table, changes, spec, bound = given
        merge(table, changes, replace(spec, ordering="degrees"), bound)

    def keeping_quiet(*given: Any) -> dict[str, str]:
        return metrics(*given) | {"numTargetRowsInserted": "0"}

    losing = merging(lambda changes: changes.where("id != 11"))
    doubling = merging(lambda changes: changes.union(changes))
    with pytest.raises(CommitMismatch, match="2 rows were to be merged, the commit explains 1: 1 inserted"):
        settle(delta_merge, "merge_changes", losing, event(10, "b", 0.0), event(11, "b", 0.0))
    with pytest.raises(CommitMismatch, match="1 rows were to be merged, the commit explains 2: 2 inserted"):
        settle(delta_merge, "merge_changes", doubling, event(12, "b", 0.0))
    with pytest.raises(CommitMismatch, match="2 rows were to be merged, the commit explains 1: 0 inserted, 1 updated"):
        settle(delta_merge, "merge_changes", guarding, event(1, "a", 0.5), event(2, "a", 2.5))
    with pytest.raises(CommitMismatch, match="1 rows were to be merged, the commit explains 0"):
        settle(Ledger, "metrics", keeping_quiet, event(3, "b", 3.0))
    before = trial.version()
    with pytest.raises(PySparkException, match="MULTIPLE_SOURCE_ROW"):
        settle(delta_merge, "merge_changes", doubling, event(1, "a", 0.0))
    assert trial.version() == before
