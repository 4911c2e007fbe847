"""Merge strategies: each gives the table that Delta's MERGE gives, or declines with a reason."""

import random
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from delta.exceptions import ConcurrentAppendException, ConcurrentTransactionException
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta.candidate_files import CandidateFiles
from common.delta.lineage import LINEAGE_TYPE
from common.delta.open_ledger import transaction
from common.delta.transaction import DirectTransaction
from common.errors import AccountingError, StateError
from common.merge.position_only import PreparedPosition
from common.merge.request import MergeRequest
from common.merge.strategies import choose_strategy
from common.merge.strategy import Declined, PreparedMerge
from common.model.disposition import DELETED
from common.model.limits import DEFAULT_LIMITS
from common.model.merge_spec import LINEAGE
from common.settings.pipeline import Pipeline
from common.spark.jvm import delta_log
from common.spark.small_queries import small_query_conf
from tests.support.merges import DRIVER, MERGE, SPARK, STRATEGIES, merged_by, only, request_of, stamped
from tests.support.trial import pipeline

SCHEMA = "id bigint, part string, degrees double"
WAYS = {
    "by position": pipeline("t", target={"keys": ["id"], "prune_by": ["id"]}),
    "by a sequence": pipeline("t", target={"keys": ["id"], "prune_by": ["id"], "sequence": "degrees"}),
    "with deletes": pipeline("t", source={"null_value": "delete"}, target={"keys": ["id"], "prune_by": ["id"]}),
    "with lineage": pipeline("t", target={"keys": ["id"], "prune_by": ["id"], "lineage": True}),
    "lineage given up": pipeline("t", target={"keys": ["id"], "prune_by": ["id"]}),
}


@pytest.fixture(params=[DRIVER, SPARK])
def strategy(request: pytest.FixtureRequest) -> str:
    """The strategies that commit files of their own."""
    return str(request.param)


@pytest.mark.parametrize("way", WAYS)
def test_every_strategy_gives_the_same(spark: SparkSession, tmp_path: Path, way: str) -> None:
    """Rows, metrics and what found nothing to do: from batches that touch some files, and one that touches none."""
    declared, chance = WAYS[way], random.Random(way)
    files = [[(n, f"p{n % 2}", float(n % 5)) for n in range(start, start + 6)] for start in range(0, 60, 10)]
    origin = F.lit(None).cast(LINEAGE_TYPE).alias(LINEAGE)
    for rows in files:
        target = spark.createDataFrame(rows, SCHEMA).select("*", *([origin] if "lineage" in way else []))
        target.coalesce(1).write.format("delta").mode("append").partitionBy("part").save(str(tmp_path / DRIVER))
    for name in (SPARK, MERGE):
        shutil.copytree(tmp_path / DRIVER, tmp_path / name)
    batches = [chance.sample(range(60), 9), chance.sample(range(20, 40), 4), [100, 101]]
    for seq, numbers in enumerate(batches, start=1):
        changes = changes_to(spark, declared, numbers, chance)
        found = {}
        for name in STRATEGIES:
            done = merged_by(name, request_of(changes, tmp_path / name, declared, seq=seq))
            content = sorted(map(str, spark.read.format("delta").load(str(tmp_path / name)).collect()))
            found[name] = done, content
        assert found[DRIVER] == found[MERGE]
        assert found[SPARK] == found[MERGE]
        assert found[DRIVER][0].inserted > 0


def changes_to(spark: SparkSession, declared: Pipeline, numbers: list[int], chance: random.Random) -> DataFrame:
    rows = [(n, f"p{n % 2}", float(chance.randrange(8)), chance.random() < 0.3) for n in numbers]
    changes = spark.createDataFrame(rows, f"{SCHEMA}, {DELETED} boolean")
    if declared.target.lineage:
        changes = changes.withColumn(
            LINEAGE, F.struct(*(F.lit(1).cast(f.dataType).alias(f.name) for f in LINEAGE_TYPE))
        )
    return (changes if declared.deletes else changes.drop(DELETED)).localCheckpoint()


def table_of(spark: SparkSession, path: Path, *rows: tuple[int, str, float], **properties: str) -> None:
    frame = spark.createDataFrame(rows or [(1, "a", 1.0), (2, "a", 2.0)], SCHEMA).coalesce(1)
    frame.write.format("delta").mode("append").options(**properties).save(str(path))


def request(spark: SparkSession, path: Path, *rows: tuple[Any, ...], schema: str = SCHEMA) -> MergeRequest:
    return request_of(spark.createDataFrame(rows, schema).localCheckpoint(), path, WAYS["by position"])


def prepared(spark: SparkSession, path: Path, name: str, *rows: tuple[Any, ...]) -> PreparedMerge:
    return choose_strategy(request(spark, path, *rows), only(name)).prepared


def test_44_row_tracking_is_left_to_delta(spark: SparkSession, tmp_path: Path) -> None:
    """In whatever case a property's value was written: Delta takes any. New rows get their numbers from Delta's own
    writer, which the Spark rewrite uses."""
    table_of(spark, tmp_path, **{"delta.enableRowTracking": "TRUE"})
    assert choose_strategy(request(spark, tmp_path, (1, "a", 1.5))).strategy == MERGE
    assert choose_strategy(request(spark, tmp_path, (7, "a", 1.5))).strategy == SPARK


def test_44_a_change_feed_keeps_the_driver_and_not_the_spark_rewrite(spark: SparkSession, tmp_path: Path) -> None:
    table_of(spark, tmp_path, **{"delta.enableChangeDataFeed": "True"})
    assert choose_strategy(request(spark, tmp_path, (1, "a", 1.5))).strategy == DRIVER
    declined = STRATEGIES[SPARK].prepare(request(spark, tmp_path, (1, "a", 1.5)))
    assert declined == Declined("delta.enableChangeDataFeed is on")


def test_candidates_with_deletion_vectors_are_left_to_the_merge(spark: SparkSession, tmp_path: Path) -> None:
    table_of(spark, tmp_path, **{"delta.enableDeletionVectors": "true"})
    assert choose_strategy(request(spark, tmp_path, (1, "a", 1.5))).strategy == DRIVER
    DeltaTable.forPath(spark, str(tmp_path)).delete("id = 2")
    chosen = choose_strategy(request(spark, tmp_path, (1, "a", 1.5)))
    assert chosen.strategy == MERGE
    assert set(chosen.declined.values()) == {"1 rows are to be merged", "a candidate file has a deletion vector"}


@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_candidates_are_found_in_a_checkpoint_too(
    spark: SparkSession, tmp_path: Path, policy: str, strategy: str
) -> None:
    """Every table has one sooner or later; what was written after it counts as well."""
    table_of(spark, tmp_path, **{"delta.checkpointPolicy": policy})
    table_of(spark, tmp_path, (7, "a", 7.0))
    delta_log(spark, str(tmp_path)).checkpoint()
    table_of(spark, tmp_path, (9, "a", 9.0))
    for key, candidates in {1: 1, 7: 1, 8: 0, 9: 1}.items():
        assert prepared(spark, tmp_path, strategy, (key, "a", 1.5)).forecast.candidates == candidates


def test_many_rows_of_the_table_are_not_planned_as_few(spark: SparkSession, tmp_path: Path) -> None:
    """However few changes meet them. What the log does not count is taken for as many rows as it has bytes."""
    most = DEFAULT_LIMITS.small_query_rows
    table_of(spark, tmp_path, *((n, "a", 1.0) for n in range(most + 1)))
    found = request(spark, tmp_path, (7, "a", 1.5)).candidates
    assert isinstance(found, CandidateFiles)
    assert found.rows == most + 1
    for rows, adaptive in ((found.rows, "true"), (most, "false")):
        with small_query_conf(spark, DEFAULT_LIMITS, 1, rows):
            assert spark.conf.get("spark.sql.adaptive.enabled") == adaptive
    uncounted = [replace(file, rows=None) for file in found.files]
    assert CandidateFiles(uncounted).rows == sum(file.size for file in found.files)


def test_a_key_that_stands_twice_stops_the_commit(spark: SparkSession, tmp_path: Path, strategy: str) -> None:
    table_of(spark, tmp_path, (1, "a", 1.0), (1, "b", 1.0))
    with pytest.raises(AccountingError, match="1 rows were to be merged, 2 found what to do"):
        prepared(spark, tmp_path, strategy, (1, "a", 1.5))


@pytest.mark.parametrize("rows", [[(1, "a", 1.5)], [(7, "a", 1.5)]], ids=["rewrite", "append"])
def test_a_commit_of_anybody_else_in_between_is_a_conflict(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[int, str, float]], strategy: str
) -> None:
    """Also where nothing is rewritten: the other one may have brought the very key that was proved absent."""
    table_of(spark, tmp_path)
    ready = prepared(spark, tmp_path, strategy, *rows)
    table_of(spark, tmp_path, (7, "a", 7.0))
    with pytest.raises(ConcurrentAppendException), transaction(spark, stamped(1)):
        ready.commit(stamped(1))
    assert DeltaTable.forPath(spark, str(tmp_path)).toDF().count() == 3


def test_34_without_a_lock_a_rival_under_the_same_transaction_meets_the_fence(
    spark: SparkSession, tmp_path: Path
) -> None:
    table_of(spark, tmp_path)
    slower, faster = DirectTransaction(spark, str(tmp_path)), DirectTransaction(spark, str(tmp_path))
    slower.fence(stamped(1))
    PreparedPosition(faster).commit(stamped(1))
    with pytest.raises(ConcurrentTransactionException):
        PreparedPosition(slower).commit(stamped(1))
    with pytest.raises(StateError, match="transaction 1 was committed by another run"):
        DirectTransaction(spark, str(tmp_path)).fence(stamped(1))
