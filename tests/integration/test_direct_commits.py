"""Commits of our own: the same as Delta's MERGE where they are allowed, and left to it where they are not."""

import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from common.delta.pruning import condition_of
from delta.exceptions import ConcurrentAppendException, ConcurrentTransactionException
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta.candidate_files import CandidateFiles, find_candidate_files
from common.delta.lineage import LINEAGE_TYPE
from common.delta.open_ledger import open_ledger, transaction
from common.delta.transaction import DirectTransaction
from common.engine.commit_metrics import outcome
from common.errors import AccountingError, StateError
from common.merge import find_candidate_files as reach_module
from common.merge import strategies as ways
from common.merge.changes import Changes
from common.merge.request import MergeRequest, merge_spec
from common.merge.strategies import PreparedDeltaMerge, PreparedMerge, PreparedPositionOnly, PreparedRewrite
from common.model.disposition import DELETED
from common.model.merge_spec import LINEAGE
from common.model.position import Position
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from common.spark.jvm import java
from common.spark.small_queries import FEW_ROWS, small_query_conf
from tests.support.bounds import bounds_of
from tests.support.trial import pipeline

SCHEMA = "id bigint, part string, degrees double"
WAYS = {
    "by position": pipeline("t", target={"keys": ["id"], "prune_by": ["id"]}),
    "by a sequence": pipeline("t", target={"keys": ["id"], "prune_by": ["id"], "sequence": "degrees"}),
    "with deletes": pipeline("t", source={"null_value": "delete"}, target={"keys": ["id"], "prune_by": ["id"]}),
    "with lineage": pipeline("t", target={"keys": ["id"], "prune_by": ["id"], "lineage": True}),
    "lineage given up": pipeline("t", target={"keys": ["id"], "prune_by": ["id"]}),
}


@pytest.fixture(params=["by hand", "by spark"], autouse=True)
def hand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who writes the files of a direct commit; the other one must not."""
    if request.param == "by spark":
        monkeypatch.setattr(reach_module, "BY_HAND_BYTES", -1)
    else:
        monkeypatch.setattr(ways, "made_by_spark", None)
    return str(request.param)


@pytest.mark.parametrize("way", WAYS)
def test_the_direct_way_gives_what_the_merge_gives(spark: SparkSession, tmp_path: Path, way: str) -> None:
    """Rows, metrics and what found nothing to do: from batches that touch some files, and one that touches none."""
    declared, chance = WAYS[way], random.Random(way)
    files = [[(n, f"p{n % 2}", float(n % 5)) for n in range(start, start + 6)] for start in range(0, 60, 10)]
    origin = F.lit(None).cast(LINEAGE_TYPE).alias(LINEAGE)
    for rows in files:
        stand = spark.createDataFrame(rows, SCHEMA).select("*", *([origin] if "lineage" in way else []))
        stand.coalesce(1).write.format("delta").mode("append").partitionBy("part").save(str(tmp_path / "direct"))
    shutil.copytree(tmp_path / "direct", tmp_path / "merge")
    batches = [chance.sample(range(60), 9), chance.sample(range(20, 40), 4), [100, 101]]
    for seq, numbers in enumerate(batches, start=1):
        changes = changes_to(spark, declared, numbers, chance)
        stamp = stamped(seq)
        found = {}
        for name in ("direct", "merge"):
            table = location(str(tmp_path / name))
            bounds = bounds_of(changes, declared)
            if name == "direct":
                way_there: PreparedMerge = MergeRequest(
                    spark, table, declared, given(changes), len(numbers), bounds, stamp
                ).prepare()
                assert isinstance(way_there, PreparedRewrite)
            else:
                target = DeltaTable.forPath(spark, table.uri)
                way_there = PreparedDeltaMerge(target, changes, merge_spec(declared), declared, condition_of(bounds))
            with transaction(spark, stamp):
                way_there.commit(stamp)
            metrics = open_ledger(spark, table.uri, "trial").metrics(stamp)
            forecast = way_there.forecast
            counts = outcome(metrics, superseded=forecast.superseded, absent=forecast.absent)
            content = sorted(map(str, spark.read.format("delta").load(table.uri).collect()))
            found[name] = counts, content
        assert found["direct"] == found["merge"]
        assert found["direct"][0].inserted > 0


def changes_to(spark: SparkSession, declared: Pipeline, numbers: list[int], chance: random.Random) -> DataFrame:
    rows = [(n, f"p{n % 2}", float(chance.randrange(8)), chance.random() < 0.3) for n in numbers]
    changes = spark.createDataFrame(rows, f"{SCHEMA}, {DELETED} boolean")
    if declared.target.lineage:
        changes = changes.withColumn(
            LINEAGE, F.struct(*(F.lit(1).cast(f.dataType).alias(f.name) for f in LINEAGE_TYPE))
        )
    return (changes if declared.deletes else changes.drop(DELETED)).localCheckpoint()


def given(changes: DataFrame) -> Changes:
    return Changes(changes.schema, lambda: changes, changes.toArrow())


def stamped(seq: int) -> Position:
    return Position("trial", 1, seq, "t", "id", {0: seq}, "run")


def table_of(spark: SparkSession, path: Path, *rows: tuple[int, str, float], **properties: str) -> None:
    frame = spark.createDataFrame(rows or [(1, "a", 1.0), (2, "a", 2.0)], SCHEMA).coalesce(1)
    frame.write.format("delta").mode("append").options(**properties).save(str(path))


def prepared(spark: SparkSession, path: Path, *rows: tuple[Any, ...], schema: str = SCHEMA) -> PreparedMerge:
    changes = spark.createDataFrame(rows, schema).localCheckpoint()
    declared = WAYS["by position"]
    bounds = bounds_of(changes, declared)
    return MergeRequest(spark, location(str(path)), declared, given(changes), len(rows), bounds, stamped(1)).prepare()


@pytest.mark.parametrize(
    "properties",
    [{"delta.enableChangeDataFeed": "True"}, {"delta.enableRowTracking": "TRUE"}],
    ids=["change feed", "row tracking"],
)
def test_44_what_only_delta_knows_how_to_keep_is_left_to_its_merge(
    spark: SparkSession, tmp_path: Path, properties: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In whatever case a property's value was written: Delta takes any."""
    if "delta.enableRowTracking" in properties:  # New rows get their numbers from Delta's own writer.
        monkeypatch.undo()
    table_of(spark, tmp_path, **properties)
    assert isinstance(prepared(spark, tmp_path, (1, "a", 1.5)), PreparedDeltaMerge)
    assert isinstance(prepared(spark, tmp_path, (7, "a", 1.5)), PreparedRewrite)


def test_deletion_vectors_are_left_to_the_merge(spark: SparkSession, tmp_path: Path) -> None:
    table_of(spark, tmp_path, **{"delta.enableDeletionVectors": "true"})
    assert isinstance(prepared(spark, tmp_path, (1, "a", 1.5)), PreparedRewrite)
    DeltaTable.forPath(spark, str(tmp_path)).delete("id = 2")
    assert isinstance(prepared(spark, tmp_path, (1, "a", 1.5)), PreparedDeltaMerge)


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_candidates_are_found_in_a_checkpoint_too(spark: SparkSession, tmp_path: Path, policy: str) -> None:
    """Every table has one sooner or later; what was written after it counts as well."""
    table_of(spark, tmp_path, **{"delta.checkpointPolicy": policy})
    table_of(spark, tmp_path, (7, "a", 7.0))
    log = java(spark, "org.apache.spark.sql.delta.DeltaLog")
    log.forTable(spark._jsparkSession, str(tmp_path)).checkpoint()
    table_of(spark, tmp_path, (9, "a", 9.0))
    for key, candidates in {1: 1, 7: 1, 8: 0, 9: 1}.items():
        way = prepared(spark, tmp_path, (key, "a", 1.5))
        assert isinstance(way, PreparedRewrite)
        assert way.forecast.candidates == candidates


def test_many_rows_of_the_table_are_not_planned_as_few(spark: SparkSession, tmp_path: Path) -> None:
    """However few changes meet them. What the log does not count is taken for as many rows as it has bytes."""
    table_of(spark, tmp_path, *((n, "a", 1.0) for n in range(FEW_ROWS + 1)))
    bounds = bounds_of(spark.createDataFrame([(7, "a", 1.5)], SCHEMA), WAYS["by position"])
    found = find_candidate_files(spark, str(tmp_path), bounds)
    assert found is not None
    assert found.rows == FEW_ROWS + 1
    for rows, adaptive in ((found.rows, "true"), (FEW_ROWS, "false")):
        with small_query_conf(spark, 1, rows):
            assert spark.conf.get("spark.sql.adaptive.enabled") == adaptive
    uncounted = [replace(file, rows=None) for file in found.files]
    assert CandidateFiles(found.transaction, uncounted).rows == sum(file.size for file in found.files)


def test_a_key_that_stands_twice_stops_the_commit(spark: SparkSession, tmp_path: Path) -> None:
    table_of(spark, tmp_path, (1, "a", 1.0), (1, "b", 1.0))
    with pytest.raises(AccountingError, match="1 rows were to be merged, 2 found what to do"):
        prepared(spark, tmp_path, (1, "a", 1.5))


@pytest.mark.parametrize("rows", [[(1, "a", 1.5)], [(7, "a", 1.5)]], ids=["rewrite", "append"])
def test_a_commit_of_anybody_else_in_between_is_a_conflict(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[int, str, float]]
) -> None:
    """Also where nothing is rewritten: the other one may have brought the very key that was proved absent."""
    table_of(spark, tmp_path)
    way = prepared(spark, tmp_path, *rows)
    table_of(spark, tmp_path, (7, "a", 7.0))
    with pytest.raises(ConcurrentAppendException), transaction(spark, stamped(1)):
        way.commit(stamped(1))
    assert DeltaTable.forPath(spark, str(tmp_path)).toDF().count() == 3


def test_34_without_a_lock_a_rival_under_the_same_transaction_meets_the_fence(
    spark: SparkSession, tmp_path: Path
) -> None:
    table_of(spark, tmp_path)
    slower, faster = DirectTransaction(spark, str(tmp_path)), DirectTransaction(spark, str(tmp_path))
    slower.fence(stamped(1))
    PreparedPositionOnly(faster).commit(stamped(1))
    with pytest.raises(ConcurrentTransactionException):
        PreparedPositionOnly(slower).commit(stamped(1))
    with pytest.raises(StateError, match="transaction 1 was committed by another run"):
        DirectTransaction(spark, str(tmp_path)).fence(stamped(1))
