"""The change feed that the driver writes, against the one that Delta's own MERGE writes for the same random batches."""

import random
import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from common.model.disposition import DELETED
from common.settings.pipeline import Pipeline
from tests.support.frames import frame
from tests.support.merges import DRIVER, MERGE, merged_by, request_of
from tests.support.trial import pipeline

SCHEMA = "id bigint, part string, degrees double"
KEYS, PARTS = 60, "abc"
DECLARED: dict[str, Pipeline] = {
    "by position, with deletes": pipeline(
        "t", source={"null_value": "delete"}, target={"keys": ["id"], "prune_by": ["id"], "partition_by": ["part"]}
    ),
    "by a sequence": pipeline(
        "t", target={"keys": ["id"], "prune_by": ["id"], "sequence": "degrees", "partition_by": []}
    ),
}


@pytest.mark.parametrize("batches", [6, pytest.param(50, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", DECLARED)
def test_the_feed_of_random_batches_is_that_of_the_merge(
    spark: SparkSession, tmp_path: Path, name: str, batches: int
) -> None:
    declared, chance = DECLARED[name], random.Random(f"{name}, {batches}")
    rows = [(number, PARTS[number % 3], float(chance.randrange(9))) for number in range(0, KEYS, 2)]
    by = declared.target.partition_by
    first = frame(spark, rows, SCHEMA).coalesce(1).write.format("delta").partitionBy(*by)
    first.option("delta.enableChangeDataFeed", "true").save(str(tmp_path / DRIVER))
    shutil.copytree(tmp_path / DRIVER, tmp_path / MERGE)
    for seq in range(1, batches + 1):
        changes = random_changes(spark, declared, chance)
        done = [merged_by(each, request_of(changes, tmp_path / each, declared, seq=seq)) for each in (DRIVER, MERGE)]
        assert done[0] == done[1]
    feeds = {each: feed(spark, tmp_path / each) for each in (DRIVER, MERGE)}
    assert feeds[DRIVER] == feeds[MERGE]
    kinds = {kind for _, kind, _ in feeds[DRIVER]}
    assert {"insert", "update_preimage", "update_postimage"} <= kinds
    assert ("delete" in kinds) == declared.deletes


def random_changes(spark: SparkSession, declared: Pipeline, chance: random.Random) -> DataFrame:
    """Some keys, one row each: known ones and new ones; a row may move from one partition to another."""
    numbers = chance.sample(range(KEYS), chance.randrange(1, 12))
    rows = [(n, chance.choice(PARTS), float(chance.randrange(9)), chance.random() < 0.3) for n in numbers]
    changes = frame(spark, rows, f"{SCHEMA}, {DELETED} boolean")
    return (changes if declared.deletes else changes.drop(DELETED)).localCheckpoint()


def feed(spark: SparkSession, path: Path) -> list[tuple[int, str, str]]:
    """Version, kind and row of each change, in their order."""
    changes = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", 1)
    rows = changes.load(str(path)).collect()
    return sorted(
        (row["_commit_version"], row["_change_type"], str((row["id"], row["part"], row["degrees"]))) for row in rows
    )
