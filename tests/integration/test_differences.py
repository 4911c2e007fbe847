"""Hundreds of pairs of a pipeline and a table that differ, through each way to commit: none of them is silent.

A pair ends in the table that a plain-Python model expects, whichever way its batch was committed; or it is refused with
a line whose remedy, followed as it is printed, leads there.
"""

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import jobs.alter_table
from common.engine.changes import changes_of
from common.engine.commit_metrics import Outcome
from common.engine.materialized_batch import materialize
from common.engine.table_fit import TableFit
from common.errors import SchemaMismatch
from common.merge.request import MergeRequest, begin_merge
from common.merge.strategies import choose_strategy
from common.merge.strategy import MergeStrategy
from common.model.disposition import MERGE
from common.model.limits import DEFAULT_LIMITS
from common.model.position import Position
from common.operations.empty_table import create_table
from common.rules.pruning import prune_bounds
from common.settings.locations import location
from common.spark.classify import classify
from common.spark.decode.json import JsonDecoder
from common.spark.source import as_records
from tests.support.differences import EVENTS, Combination, as_number, combination
from tests.support.merges import CHOICES, committed
from tests.support.partitions import of_t
from tests.support.records import records

SHORT, LONG = range(6), range(6, 320)
MOST_REMEDIES = 12


@pytest.mark.parametrize("number", SHORT)
def test_39_a_pair_that_differs_fits_or_is_mended(spark: SparkSession, tmp_path: Path, number: int) -> None:
    settle_each_way(spark, tmp_path, combination(number))


@pytest.mark.long
@pytest.mark.parametrize("number", LONG)
def test_39_many_pairs_that_differ_fit_or_are_mended(spark: SparkSession, tmp_path: Path, number: int) -> None:
    settle_each_way(spark, tmp_path, combination(number))


def settle_each_way(spark: SparkSession, folder: Path, pair: Combination) -> None:
    path = folder / "table"
    pair.create(spark, str(path))
    path, fit = mended(spark, pair, path)
    fit.apply(spark)
    for way, choice in CHOICES.items():
        copy = folder / way.replace(" ", "_")
        shutil.copytree(path, copy)
        before = row_ids(spark, copy, pair)
        done = settled(spark, pair, copy, choice)
        assert done == expected_outcome(pair), way
        assert rows_of(spark, copy, pair) == pair.expected(), way
        check_identity(spark, copy, pair)
        assert row_ids(spark, copy, pair).items() >= before.items(), way
        assert feed_of(spark, copy, pair) == expected_feed(pair), way


def mended(spark: SparkSession, pair: Combination, path: Path) -> tuple[Path, TableFit]:
    """Follow each printed remedy until the two fit; one of them is a new table."""
    for _ in range(MOST_REMEDIES):
        try:
            return path, TableFit(spark, pair.pipeline(), location(str(path)))
        except SchemaMismatch as refused:
            if new := re.search(r"submit/create_table.sh trial (\S+)$", refused.remedy):
                path = Path(new[1])
                create_table(spark, pair.pipeline(), location(str(path)))
                pair.begin_anew()
            else:
                follow(refused.remedy, pair)
    raise AssertionError(f"{MOST_REMEDIES} remedies did not mend {pair}")


def follow(remedy: str, pair: Combination) -> None:
    if remedy.startswith("submit/alter_table.sh"):
        arguments = shlex.split(remedy)[1:]
        jobs.alter_table.main.__wrapped__.main(arguments, standalone_mode=False)  # type: ignore[attr-defined]
        note_altered(" ".join(arguments), pair)
    elif written := re.fullmatch(r'write (\w+) = (".*") under \[(source.columns|target.derived)\]', remedy):
        section = pair.source["columns"] if written[3] == "source.columns" else pair.target["derived"]
        section[written[1]] = written[2][1:-1]
    elif "write partition_by" in remedy:
        pair.target["partition_by"] = ["part"] if pair.is_partitioned else []
    else:
        assert 'undeclared = "keep"' in remedy, remedy
        pair.target["schema_changes"]["undeclared"] = "keep"


def note_altered(clauses: str, pair: Combination) -> None:
    """What the model has to know of it."""
    for name in list(pair.not_null):
        if f"ALTER COLUMN `{pair.names[name]}` DROP NOT NULL" in clauses:
            pair.not_null.remove(name)


def settled(spark: SparkSession, pair: Combination, path: Path, choice: Sequence[MergeStrategy]) -> Outcome:
    """One batch from bytes to the commit, as the engine does it for a few records."""
    table = location(str(path))
    fit = TableFit(spark, pair.pipeline(), table)
    declared = fit.pipeline
    after = Position("trial", 1, 1, {"t": "id"}, of_t({0: 1}), "run")
    classified = classify(as_records(records(spark, *pair.messages())), declared, JsonDecoder.of(declared.source))
    batch = materialize(classified, declared, DEFAULT_LIMITS, is_fetched=True).deduplicate()
    stats = batch.stats()
    bounds = prune_bounds(stats.value_ranges, stats.types, declared.target.keys, deletes=declared.deletes)
    to_merge = sum(each.dispositions[MERGE] for each in stats.tally.values())
    changes = changes_of(batch, declared, after)
    attempt = begin_merge(MergeRequest(spark, table, declared, changes, to_merge, bounds, after))
    return committed(attempt, choose_strategy(attempt, choice).prepared)


def expected_outcome(pair: Combination) -> Outcome:
    merged = [event["id"] for event in EVENTS if not pair.is_turned_away(event)]
    updated = merged.count(1) if pair.first else 0
    return Outcome(inserted=len(merged) - updated, updated=updated, deleted=0, superseded=0, absent=0)


def rows_of(spark: SparkSession, path: Path, pair: Combination) -> dict[Any, dict[str, Any]]:
    """By the model's names and numbers; an identity is looked at by itself."""
    rows = spark.read.format("delta").load(str(path))
    spelling = {name.lower(): name for name in rows.columns}
    names = [name for name in next(iter(pair.expected().values())) if name.lower() in spelling]
    found = {}
    for row in rows.collect():
        values = {name: as_number(row[spelling[name]]) for name in names}
        values["extra"] = None if pair.extra == "identity" else values.get("extra")
        found[values["id"]] = values
    assert len(found) == rows.count()
    return found


def check_identity(spark: SparkSession, path: Path, pair: Combination) -> None:
    if pair.extra == "identity":
        numbers = [row["extra"] for row in spark.read.format("delta").load(str(path)).select("extra").collect()]
        assert None not in numbers
        assert len(set(numbers)) == len(numbers)


def row_ids(spark: SparkSession, path: Path, pair: Combination) -> dict[int, int]:
    """Delta's own numbers of rows, where the table tracks them: a row keeps its number when it is rewritten."""
    if "delta.enableRowTracking" not in pair.properties:
        return {}
    rows = spark.read.format("delta").load(str(path)).select("id", "_metadata.row_id").collect()
    return {int(row["id"]): row["row_id"] for row in rows}


def feed_of(spark: SparkSession, path: Path, pair: Combination) -> set[tuple[str, int]] | None:
    """What the change feed tells of the batch."""
    if "delta.enableChangeDataFeed" not in pair.properties:
        return None
    version = spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").collect()[0]["version"]
    feed = spark.read.format("delta").option("readChangeFeed", "true").option("startingVersion", version)
    return {
        (row["_change_type"], int(row["id"])) for row in feed.load(str(path)).select("_change_type", "id").collect()
    }


def expected_feed(pair: Combination) -> set[tuple[str, int]] | None:
    if "delta.enableChangeDataFeed" not in pair.properties:
        return None
    merged = {event["id"] for event in EVENTS if not pair.is_turned_away(event)}
    there = {row["id"] for row in pair.first}
    updates = {(f"update_{image}", number) for image in ("preimage", "postimage") for number in merged & there}
    return updates | {("insert", number) for number in merged - there}
