"""VACUUM: nothing younger than the retention, nothing that a reader still needs, nothing that is being written."""

import os
import shutil
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.feed_readers import Reader, Readers
from common.engine import commit
from common.errors import StateError, UsageError
from common.operations.maintenance import checkpoint_tables, vacuum_tables
from common.operations.retention import parse_hours
from common.settings.locations import Location, location
from tests.support.aging import age
from tests.support.trial import Trial, event, pipeline

NOBODY: frozenset[str] = frozenset()
EIGHT_DAYS = timedelta(days=8)


@pytest.fixture(scope="module")
def written(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two versions: the second one removed the file of the first."""
    table = tmp_path_factory.mktemp("written") / "table"
    for number in range(2):
        spark.range(number, number + 1).coalesce(1).write.format("delta").mode("overwrite").save(str(table))
    return table


@pytest.fixture
def table(written: Path, tmp_path: Path) -> Location:
    """A copy of one's own."""
    return location(str(shutil.copytree(written, tmp_path / "table")))


def orphan(table: Location, name: str, size: int, days: float) -> Path:
    """A file that no version has, as a commit that never came leaves it."""
    file = Path(str(table)) / name
    file.write_bytes(b"x" * size)
    when = time.time() - days * 86_400
    os.utime(file, (when, when))
    return file


def files(table: Location) -> set[str]:
    return {file.name for file in Path(str(table)).rglob("*.parquet")}


def ids(spark: SparkSession, table: Location) -> list[int]:
    return [row["id"] for row in spark.read.format("delta").load(table.uri).collect()]


def history(spark: SparkSession, table: Location) -> list[str]:
    return [row["operation"] for row in DeltaTable.forPath(spark, table.uri).history().collect()]


def test_a_dry_run_counts_and_deletes_nothing(
    spark: SparkSession, table: Location, capsys: pytest.CaptureFixture[str]
) -> None:
    orphan(table, "old.parquet", 100, days=8)
    orphan(table, "young.parquet", 10, days=6)
    before = files(table)
    vacuum_tables(spark, table, None, NOBODY, execute=False)
    assert capsys.readouterr().out.splitlines() == [
        f"{table}: 1 files, 100 bytes are no longer needed; everything of the last 168 hours is kept",
        "Nothing was changed; --execute does it.",
    ]
    assert files(table) == before


def test_what_is_older_than_the_retention_goes_without_a_commit(
    spark: SparkSession, table: Location, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = location(f"{table}_late")
    spark.range(1).write.format("delta").save(beside.uri)
    gone = [orphan(each, "old.parquet", 100, days=8) for each in (table, beside)]
    before = files(table)
    vacuum_tables(spark, table, None, NOBODY, execute=True)
    assert [line for line in capsys.readouterr().out.splitlines() if "deleted" in line] == [
        f"{each}: 1 files, 100 bytes deleted" for each in (table, beside)
    ]
    assert not any(file.exists() for file in gone)
    assert files(table) == before - {"old.parquet"}
    assert history(spark, table) == ["WRITE", "WRITE"]


def test_31_less_than_the_retention_is_refused_unless_forced_by_name(spark: SparkSession, table: Location) -> None:
    before = files(table)
    for forced in (NOBODY, frozenset({"another"})):
        with pytest.raises(UsageError) as refused:
            vacuum_tables(spark, table, 1, forced, execute=True)
        assert str(refused.value) == (
            f"--retain 1h is less than the 168h for which {table} keeps files: readers and time travel would miss "
            "them; leave --retain out, or insist with COMMAND --force table"
        )
    assert files(table) == before
    vacuum_tables(spark, table, 0, frozenset({"table"}), execute=True)
    assert len(files(table)) == 1
    assert ids(spark, table) == [1]
    assert history(spark, table)[:2] == ["VACUUM END", "VACUUM START"]


def test_a_retention_that_was_forced_is_the_one_that_counts(spark: SparkSession, table: Location) -> None:
    age(spark, Path(str(table)), timedelta(days=2))
    spark.range(2, 3).coalesce(1).write.format("delta").mode("overwrite").save(table.uri)
    vacuum_tables(spark, table, 24, frozenset({"table"}), execute=True)
    assert len(files(table)) == 2, "the file that was removed two days ago, and no other"


def test_more_than_the_retention_is_refused(spark: SparkSession, table: Location) -> None:
    """Delta drops the marks of removed files after the retention: what is older would be deleted all the same."""
    with pytest.raises(UsageError, match=r"set delta\.deletedFileRetentionDuration of the table instead"):
        vacuum_tables(spark, table, 200, NOBODY, execute=True)


def test_the_tables_own_retention_counts(spark: SparkSession, table: Location) -> None:
    spark.sql(
        f"ALTER TABLE delta.`{table.uri}` SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 2 days')"
    )
    orphan(table, "old.parquet", 100, days=3)
    vacuum_tables(spark, table, 48, NOBODY, execute=True)
    assert "old.parquet" not in files(table)
    with pytest.raises(UsageError, match="less than the 48h"):
        vacuum_tables(spark, table, 47, NOBODY, execute=True)


@pytest.mark.parametrize("text", ["7", "7w", "-1h", "h", "1.5h"])
def test_a_retention_is_whole_hours_or_days(text: str) -> None:
    assert (parse_hours("0h"), parse_hours("36h"), parse_hours("7d")) == (0, 36, 168)
    with pytest.raises(UsageError, match="say whole hours or days"):
        parse_hours(text)


def test_31_what_a_reader_has_not_read_is_kept(spark: SparkSession, table: Location) -> None:
    age(spark, Path(str(table)), EIGHT_DAYS)
    before = files(table)
    readers = Readers(spark, table.uri)
    readers.write(Reader("replica", 0))
    with pytest.raises(StateError) as refused:
        vacuum_tables(spark, table, None, NOBODY, execute=True)
    assert str(refused.value) == (
        "reader 'replica' has read up to version 0 of 1, and files of the versions after it would be deleted; "
        "let it catch up, delete _alluvium/readers/replica.json if it is gone for good, or insist with "
        "COMMAND --force replica"
    )
    assert files(table) == before
    readers.write(Reader("replica", 1))
    vacuum_tables(spark, table, None, NOBODY, execute=True)
    assert len(files(table)) == 1


def test_a_reader_is_overridden_by_its_own_name_only(spark: SparkSession, table: Location) -> None:
    age(spark, Path(str(table)), EIGHT_DAYS)
    Readers(spark, table.uri).write(Reader("replica", 0))
    with pytest.raises(StateError, match="reader 'replica'"):
        vacuum_tables(spark, table, 0, frozenset({"table"}), execute=True)
    vacuum_tables(spark, table, None, frozenset({"replica"}), execute=True)
    assert len(files(table)) == 1


def test_a_reader_that_misses_only_young_versions_does_no_harm(spark: SparkSession, table: Location) -> None:
    """The table was quiet for a week, and has just been written to."""
    age(spark, Path(str(table)), EIGHT_DAYS)
    spark.range(5, 6).write.format("delta").mode("append").save(table.uri)
    Readers(spark, table.uri).write(Reader("replica", 1))
    vacuum_tables(spark, table, None, NOBODY, execute=True)
    assert sorted(ids(spark, table)) == [1, 5]


def test_a_reader_whose_versions_the_log_has_forgotten_is_refused(spark: SparkSession, table: Location) -> None:
    spark.range(5, 6).write.format("delta").mode("append").save(table.uri)
    checkpoint_tables(spark, table)
    for version in range(2):
        (Path(str(table)) / "_delta_log" / f"{version:020d}.json").unlink()
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    Readers(spark, table.uri).write(Reader("replica", 0))
    with pytest.raises(StateError, match="reader 'replica' has read up to version 0 of 2"):
        vacuum_tables(spark, table, None, NOBODY, execute=True)


def test_readers_are_found_whatever_state_their_file_is_in(spark: SparkSession, table: Location) -> None:
    readers, folder = Readers(spark, table.uri), Path(str(table)) / "_alluvium" / "readers"
    assert readers.read() == []
    readers.write(Reader("one", 3))
    readers.write(Reader("one", 4))
    readers.write(Reader("two", 7))
    (folder / "two.json").rename(folder / ".two.json.partial")
    assert readers.read() == [Reader("one", 4), Reader("two", 7)]
    (folder / "one.json").write_text("{")
    (folder / ".one.json.crc").unlink(missing_ok=True)
    with pytest.raises(StateError, match=r"how far reader 'one' is cannot be read from .*/_alluvium/readers/one\.json"):
        readers.read()
    readers.remove("one")
    assert [reader.name for reader in readers.read()] == ["two"]
    with pytest.raises(UsageError, match="no name of a reader"):
        readers.write(Reader("../one", 1))


def test_31_vacuum_waits_for_a_merge_that_has_written_and_not_committed(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are in no version yet: VACUUM would take them for rubbish, and the commit would name files that are
    gone."""
    trial.pipeline = pipeline(trial.topic, target={"prune_by": ["id"]})
    ended: list[BaseException | None] = []
    in_flight: list[set[str]] = []

    def vacuum() -> None:
        try:
            vacuum_tables(trial.spark.newSession(), trial.table, 0, frozenset({trial.table.name}), execute=True)
        except BaseException as error:
            ended.append(error)
            raise
        ended.append(None)

    def write(*given: Any) -> None:
        in_flight.append(files(trial.table) - before)
        vacuuming.start()
        time.sleep(8)
        assert not ended, "VACUUM did not wait"
        written(*given)

    vacuuming = threading.Thread(target=vacuum)
    before = files(trial.table)
    written = commit.write
    monkeypatch.setattr(commit, "write", write)
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(3, "b", 3.0)])
    trial.run("batch")
    vacuuming.join(120)
    assert ended == [None]
    assert len(in_flight[0]) == 2, "the merge had written its files"
    assert in_flight[0] <= files(trial.table)
    assert trial.rows() == {(1, "a", 1.5), (2, "a", 2.0), (3, "b", 3.0)}


def test_a_checkpoint_is_written_once_for_each_table(
    spark: SparkSession, table: Location, capsys: pytest.CaptureFixture[str]
) -> None:
    beside = location(f"{table}_deleted_keys")
    spark.range(1).write.format("delta").save(beside.uri)
    checkpoint_tables(spark, table)
    first = capsys.readouterr().out.splitlines()
    assert [line.rpartition(" written in ")[0] for line in first] == [
        f"{table}: checkpoint of version 1",
        f"{beside}: checkpoint of version 0",
    ]
    for each, version in ((table, 1), (beside, 0)):
        assert (Path(str(each)) / "_delta_log" / f"{version:020d}.checkpoint.parquet").exists()
    checkpoint_tables(spark, table)
    assert [line.endswith("has one already") for line in capsys.readouterr().out.splitlines()] == [True, True]
    spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert ids(spark, table) == [1]
