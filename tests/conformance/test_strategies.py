"""Merge strategies: each gives the table that Delta's MERGE gives, or declines with a reason."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from delta.exceptions import ConcurrentAppendException, ConcurrentTransactionException
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.candidate_files import CandidateFiles
from common.delta.open_ledger import transaction
from common.delta.transaction import DirectTransaction
from common.errors import AccountingError, StateError
from common.merge.request import MergeAttempt
from common.merge.strategies import PreparedPosition, choose_strategy
from common.merge.strategy import Declined, PreparedMerge
from common.model.limits import DEFAULT_LIMITS
from common.settings.locations import location
from common.spark.jvm import delta_log
from common.spark.small_queries import small_query_conf
from tests.support.frames import frame
from tests.support.merges import DRIVER, MERGE, SPARK, STRATEGIES, only, request_of, stamped
from tests.support.trial import pipeline

SCHEMA = "id bigint, part string, degrees double"
BY_POSITION = pipeline("t", target={"keys": ["id"], "prune_by": ["id"]})


@pytest.fixture(params=[DRIVER, SPARK])
def strategy(request: pytest.FixtureRequest) -> str:
    """The strategies that commit files of their own."""
    return str(request.param)


def table_of(spark: SparkSession, path: Path, *rows: tuple[int, str, float], **properties: str) -> None:
    written = frame(spark, rows or [(1, "a", 1.0), (2, "a", 2.0)], SCHEMA).coalesce(1)
    written.write.format("delta").mode("append").options(**properties).save(str(path))


def request(spark: SparkSession, path: Path, *rows: tuple[Any, ...], schema: str = SCHEMA) -> MergeAttempt:
    return request_of(frame(spark, rows, schema).localCheckpoint(), path, BY_POSITION)


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
    slower, faster = (DirectTransaction(spark, location(str(tmp_path))) for _ in range(2))
    slower.fence(stamped(1))
    PreparedPosition(faster).commit(stamped(1))
    with pytest.raises(ConcurrentTransactionException):
        PreparedPosition(slower).commit(stamped(1))
    with pytest.raises(StateError, match="transaction 1 was committed by another run"):
        DirectTransaction(spark, location(str(tmp_path))).fence(stamped(1))
