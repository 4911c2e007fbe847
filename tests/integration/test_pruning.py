"""What a batch leaves unread: by bounds that every row with one of its keys fulfils, through Delta's own skipping."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession

from common.delta.candidate_files import FileSkipping
from common.delta.format.data_file import DataFile
from common.delta.transaction import DirectTransaction
from common.engine.run_report import Files, read_report
from common.errors import ConfigurationError, StateError
from common.rules.pruning import MAX_RANGES, PruneBound
from common.settings.locations import location
from common.spark.expressions import check_expressions
from common.spark.pruning import prune_condition, undeclared_keys
from tests.support.bounds import bounds_of, ranges_of
from tests.support.frames import frame
from tests.support.partitions import numbered
from tests.support.trial import Trial, event, pipeline, tombstone

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
# Alike in their first 32 characters, which is all that Delta keeps of a text; the last is beyond 16 bits.
LONG = "a station whose name is longer than thirty-two characters, number "
KINDS: dict[str, Callable[[int], Any]] = {
    "int": lambda n: n - 50,
    "bigint": lambda n: (n - 50) * 2**40,
    "date": lambda n: date(2024, 1, 1) + timedelta(days=3 * n),
    # Delta cuts the statistics of times to milliseconds.
    "timestamp": lambda n: NOON + timedelta(minutes=n, microseconds=999_999 - n),
    "string": lambda n: f"{LONG}{n:03}" if n % 2 else f"\U0001f321 it's \\{n}",
}


def keyed_by(kind: str, **target: Any) -> Any:
    return pipeline(
        "t",
        source={"columns": {"k": kind, "n": "bigint"}},
        target={"keys": ["k"], "partition_by": [], "prune_by": ["k"]} | target,
    )


def write_files(spark: SparkSession, path: Path, kind: str, files: Sequence[Sequence[int]]) -> DeltaTable:
    """One commit; each part of a union is a file of its own."""
    parts = [frame(spark, [(KINDS[kind](n), n) for n in numbers], f"k {kind}, n bigint") for numbers in files]
    reduce(DataFrame.union, (rows.coalesce(1) for rows in parts)).write.format("delta").save(str(path))
    return DeltaTable.forPath(spark, str(path))


def inside(table: DeltaTable, bounds: Sequence[PruneBound]) -> DataFrame:
    """By Spark, as a MERGE with the same bounds reads it."""
    condition = prune_condition(bounds)
    assert condition is not None
    return table.alias("t").toDF().where(condition)


def rows_of(spark: SparkSession, path: Path, files: Sequence[DataFile]) -> list[Row]:
    """By the files that Kernel names."""
    return DirectTransaction(spark, location(str(path))).read(files).collect()


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_with_a_key_of_the_batch_is_inside_of_the_bounds(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    """Rows of a batch in any order, on the edges of files and between them; what the bounds leave unread has none."""
    chance = random.Random(kind)
    files = [range(start, start + 8) for start in range(0, 100, 10)]
    table = write_files(spark, tmp_path, kind, files)
    assert len(table.toDF().inputFiles()) == len(files)
    edges = ([30], [37], [38])
    for wanted in (*edges, chance.sample(range(100), 3), chance.sample(range(100), 12)):
        changes = frame(spark, [(KINDS[kind](n), -n) for n in wanted], f"k {kind}, n bigint").localCheckpoint()
        bounds = bounds_of(changes, keyed_by(kind))
        arrow = {n for numbers in files for n in numbers} & set(wanted)
        assert {row["n"] for row in inside(table, bounds).collect()} >= arrow
        candidates = list(FileSkipping(spark, str(tmp_path)).files(0, bounds))
        assert {row["n"] for row in rows_of(spark, tmp_path, candidates)} >= arrow
        # Each key is a range of its own, so a file is a candidate only where a key lies between its least and greatest.
        between = sum(1 for numbers in files if any(numbers[0] <= n <= numbers[-1] for n in wanted))
        assert len(candidates) == between or kind == "string"


@pytest.mark.parametrize("trouble", ["no statistics", "deletion vectors", "not a number"])
def test_files_that_tell_less_are_read_all_the_same(spark: SparkSession, tmp_path: Path, trouble: str) -> None:
    path = str(tmp_path)
    if trouble == "no statistics":
        spark.conf.set("spark.databricks.delta.stats.collect", "false")
    try:
        rows = [(n, float("nan") if trouble == "not a number" else 1.0) for n in range(10)]
        frame(spark, rows, "k bigint, n double").coalesce(1).write.format("delta").save(path)
    finally:
        spark.conf.unset("spark.databricks.delta.stats.collect")
    if trouble == "deletion vectors":
        spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
        DeltaTable.forPath(spark, path).delete("k IN (0, 9)")
    changes = frame(spark, [(4, 2.0)], "k bigint, n double").localCheckpoint()
    table, declared = DeltaTable.forPath(spark, path), keyed_by("bigint")
    version = int(table.history(1).first()["version"])
    assert len(list(FileSkipping(spark, path).files(version, bounds_of(changes, declared)))) == 1
    assert inside(table, bounds_of(changes, declared)).where("k = 4").count() == 1
    beyond = bounds_of(frame(spark, [(40, 2.0)], "k bigint, n double").localCheckpoint(), declared)
    assert len(list(FileSkipping(spark, path).files(version, beyond))) == (1 if trouble == "no statistics" else 0)


def test_the_widest_gaps_divide_the_ranges(spark: SparkSession) -> None:
    """Neighbours are one range; of more gaps than ranges are allowed the narrowest are given up."""
    near = [1, 2, 3, 10, None]
    far = [n * 1000 + n % 7 * 10 for n in range(3 * MAX_RANGES)]
    changes = frame(spark, [(n, n) for n in near] + [(7, n) for n in far], "a int, b bigint")
    found = ranges_of(changes, ["a", "b"])
    assert [(span.first, span.last) for span in found["a"].ranges] == [(1, 3), (7, 7), (10, 10)]
    assert (found["a"].has_null, found["b"].has_null) == (True, True)
    ranges = [(int(span.first), int(span.last)) for span in found["b"].ranges]
    assert len(ranges) == MAX_RANGES
    assert all(any(first <= n <= last for first, last in ranges) for n in [*far, 1, 2, 3, 10])
    between = [after[0] - before[1] for before, after in pairwise(ranges)]
    given_up = [
        after - before
        for first, last in ranges
        for before, after in pairwise(sorted(far))
        if first <= before < after <= last
    ]
    assert min(between) >= max(given_up)


def test_nulls_of_a_column_that_is_no_key_have_a_branch_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    declared = keyed_by("bigint", immutable=["n"], prune_by=["n"])
    rows = frame(spark, [(1, 5), (2, None)], "k bigint, n bigint")
    rows.write.format("delta").save(str(tmp_path))
    for changed in ((1, 5), (2, None)):
        changes = frame(spark, [changed], "k bigint, n bigint").localCheckpoint()
        bounds = bounds_of(changes, declared)
        assert changed in [tuple(row) for row in inside(DeltaTable.forPath(spark, str(tmp_path)), bounds).collect()]
        candidates = list(FileSkipping(spark, str(tmp_path)).files(0, bounds))
        assert changed in [tuple(row) for row in rows_of(spark, tmp_path, candidates)]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ({"prune_by": ["degrees"]}, "'degrees' is not a key; list it in target.immutable if it never changes"),
        ({"prune_by": ["degrees"], "immutable": ["degrees"]}, "'degrees' is double; columns to prune by are int, big"),
        ({"prune_by": ["prat"]}, "target.prune_by: no column 'prat'; did you mean 'part'?"),
        ({"immutable": ["ids"]}, "target.immutable: no column 'ids'; did you mean 'id'?"),
    ],
)
def test_pruning_that_would_not_be_sound_is_refused(target: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("?", r"\?")):
        pipeline("t", target=target)


def test_a_derived_column_of_a_wrong_type_is_refused(spark: SparkSession) -> None:
    declared = pipeline("t", target={"derived": {"half": "id / 2"}, "immutable": ["half"], "prune_by": ["half"]})
    with pytest.raises(ConfigurationError, match=r"target\.prune_by: 'half' is double"):
        check_expressions(spark, declared)


def pruned(trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, **parts: Any) -> Trial:
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    trial.pipeline = pipeline(trial.topic, target={"prune_by": ["part", "id"]}, **parts)
    return trial


def touched(tmp_path: Path) -> Files:
    (report,) = (tmp_path / "reports").glob("*.json")
    return read_report(report).last_batches[-1].files


def operations(trial: Trial) -> list[str]:
    history = DeltaTable.forPath(trial.spark, trial.table.uri).history().orderBy("version")
    return [row["operation"] for row in history.collect()][1:]


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_keys_that_no_file_can_hold_are_appended_and_the_others_merged(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str
) -> None:
    """The same position in the same commit, whichever way it is written."""
    trial = pruned(trial, monkeypatch, tmp_path)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), event(900, "a", 9.0), (b"x", b"not json")], partition=0)
    assert trial.run(mode).seq == 1
    assert touched(tmp_path) == Files(in_table=1, candidates=0, added=2, removed=0)
    trial.broker.produce(trial.topic, [event(3, "b", 3.5), event(4, "c", 4.0)], partition=0)
    assert numbered(trial.run(mode).offsets) == {0: 5, 1: 0, 2: 0}
    assert touched(tmp_path) == Files(in_table=3, candidates=1, added=2, removed=1)
    assert operations(trial) == ["WRITE", "MERGE"]
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.5), (900, "a", 9.0), (4, "c", 4.0)}
    assert trial.run("batch").seq == 2


def test_deletes_are_found_by_their_keys_and_counted_where_nothing_is(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trial = pruned(trial, monkeypatch, tmp_path, source={"null_value": "delete"})
    trial.broker.produce(trial.topic, [tombstone(1, "a"), tombstone(77, "b")])
    trial.run("batch")
    assert trial.rows() == {(2, "a", 2.0)}
    trial.broker.produce(trial.topic, [tombstone(88, "z"), event(89, "z", 8.9)])
    trial.run("batch")
    assert operations(trial) == ["MERGE", "WRITE"]
    assert trial.rows() == {(2, "a", 2.0), (89, "z", 8.9)}


def test_keys_are_pruned_by_without_being_asked(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reader: None
) -> None:
    """Also by a delete."""
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    trial.pipeline = pipeline(trial.topic, source={"null_value": "delete"})
    trial.broker.produce(trial.topic, [event(900, "a", 9.0), event(901, "c", 9.1)], partition=0)
    trial.run("batch")
    assert touched(tmp_path) == Files(in_table=1, candidates=0, added=2, removed=0)
    trial.broker.produce(trial.topic, [event(900, "a", 9.5), tombstone(901, "c")], partition=0)
    trial.run("batch")
    assert touched(tmp_path) == Files(in_table=3, candidates=2, added=1, removed=2)
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (900, "a", 9.5)}


def test_a_key_that_cannot_be_pruned_by_is_left_to_the_others(spark: SparkSession) -> None:
    schema = frame(spark, [], "id bigint, degrees double, at timestamp, flag boolean, note string").schema
    declared = pipeline(
        "t",
        source={"columns": {field.name: field.dataType.simpleString() for field in schema}},
        target={"keys": ["note", "degrees", "id", "flag"], "partition_by": [], "prune_by": ["note"]},
    )
    assert undeclared_keys(schema, declared) == ("id",)


def test_a_column_that_changes_although_declared_immutable_is_found_by_the_check(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the check the MERGE does not find the row, and inserts a second one."""
    trial.pipeline = pipeline(trial.topic, target={"keys": ["id"], "immutable": ["part"], "prune_by": ["part"]})
    trial.check_pruning = True
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(3, "b", 3.0)], partition=0)
    assert trial.run("batch").seq == 1
    trial.broker.produce(trial.topic, [event(2, "moved", 2.5)], partition=0)
    with pytest.raises(StateError, match="key id=2 has a row outside of its batch's bounds"):
        trial.run("batch")
    assert (trial.position().seq, trial.rows()) == (1, {(1, "a", 1.5), (2, "a", 2.0), (3, "b", 3.0)})
    trial.check_pruning = False
    trial.run("batch")
    assert {(2, "a", 2.0), (2, "moved", 2.5)} < trial.rows()
