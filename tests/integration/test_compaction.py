"""Compaction: only where files are many and small, one commit a partition, the same rows afterwards."""

from datetime import timedelta
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.operations.compaction import Chunk, Compacted, Scope, compact, files_after, plan_compaction
from common.operations.maintenance import compact_tables
from common.settings.locations import Location, location
from tests.support.aging import age
from tests.support.frames import frame

ANY = Scope(1024 * 1024)


@pytest.fixture
def table(tmp_path: Path) -> Location:
    return location(str(tmp_path / "table"))


def append(spark: SparkSession, table: Location, rows: list[tuple[int, str | None]]) -> None:
    """A file a row."""
    written = frame(spark, rows, "id bigint, part string").repartition(len(rows), "id").write
    written.format("delta").mode("append").partitionBy("part").option("maxRecordsPerFile", 1).save(table.uri)


def operations(spark: SparkSession, table: Location) -> list[str]:
    return [row["operation"] for row in DeltaTable.forPath(spark, table.uri).history().collect()]


def sizes(spark: SparkSession, table: Location, part: str) -> list[int]:
    files = spark.read.format("delta").load(table.uri).where(f"part = '{part}'").inputFiles()
    return [Path(file.removeprefix("file:")).stat().st_size for file in files]


def done(spark: SparkSession, table: Location, chunks: list[Chunk], scope: Scope) -> list[Compacted]:
    return list(compact(spark, table, table, chunks, scope))


def test_crowded_partitions_are_rewritten_one_commit_each(spark: SparkSession, table: Location) -> None:
    rows: list[tuple[int, str | None]] = [(1, "it's"), (2, "it's"), (3, None), (4, None), (5, "alone")]
    append(spark, table, rows)
    chunks = plan_compaction(spark, table, ANY).chunks
    assert [(chunk.partition, chunk.files, chunk.files_after) for chunk in chunks] == [
        ({"part": "it's"}, 2, 1),
        ({"part": None}, 2, 1),
    ]
    results = done(spark, table, chunks, ANY)
    assert [(each.chunk, each.removed, each.added) for each in results] == [(chunk, 2, 1) for chunk in chunks]
    assert plan_compaction(spark, table, ANY).chunks == []
    assert operations(spark, table) == ["OPTIMIZE", "OPTIMIZE", "WRITE"]
    assert sorted(spark.read.format("delta").load(table.uri).collect()) == sorted(
        map(tuple, rows), key=lambda row: row[0]
    )


def test_a_table_without_partitions_is_one_chunk(spark: SparkSession, table: Location) -> None:
    spark.range(4).repartition(4).write.format("delta").option("maxRecordsPerFile", 1).save(table.uri)
    (chunk,) = plan_compaction(spark, table, ANY).chunks
    assert chunk == Chunk({}, 4, chunk.bytes, 1)
    assert str(chunk) == f"the whole table: 4 files, {chunk.bytes} bytes, 1 afterwards"
    done(spark, table, [chunk], ANY)
    assert len(spark.read.format("delta").load(table.uri).inputFiles()) == 1


def test_files_that_do_not_fit_together_are_left_alone(spark: SparkSession, table: Location) -> None:
    """Two of a, each more than half of a full file; three of b, of which two fit."""
    append(spark, table, [(1, "a"), (2, "a")])
    (size, _) = sizes(spark, table, "a")
    scope = Scope(target_bytes=int(size * 2.5))
    append(spark, table, [(3, "b"), (4, "b"), (5, "b")])
    assert plan_compaction(spark, table, Scope(target_bytes=int(size * 1.5))).chunks == []
    chunks = plan_compaction(spark, table, scope).chunks
    assert [(chunk.partition["part"], chunk.files, chunk.files_after) for chunk in chunks] == [("a", 2, 1), ("b", 3, 2)]
    results = done(spark, table, chunks, scope)
    assert [(each.removed, each.added) for each in results] == [(2, 1), (2, 1)]
    assert len(sizes(spark, table, "b")) == 2


def test_files_are_packed_from_the_smallest_on() -> None:
    assert files_after([1, 2, 3, 4], 10) == 1
    assert files_after([6, 5, 7], 10) == 3
    assert files_after([9, 1, 1], 10) == 2
    assert files_after([], 10) == 0


def test_open_partitions_are_left_out_unless_asked_for(spark: SparkSession, table: Location) -> None:
    append(spark, table, [(1, "old"), (2, "old"), (3, "mixed"), (4, "mixed")])
    age(spark, Path(str(table)), timedelta(hours=2))
    append(spark, table, [(5, "mixed"), (6, "new"), (7, "new")])
    closed = plan_compaction(spark, table, Scope(ANY.target_bytes, closed_after_seconds=3600))
    assert [chunk.partition["part"] for chunk in closed.chunks] == ["old"]
    assert closed.open == 2
    everything = plan_compaction(spark, table, ANY)
    assert [chunk.partition["part"] for chunk in everything.chunks] == ["mixed", "new", "old"]
    assert everything.open == 0


def test_a_liquid_table_is_clustered_as_a_whole(spark: SparkSession, table: Location) -> None:
    spark.sql(f"CREATE TABLE delta.`{table.uri}` (id bigint) USING delta CLUSTER BY (id)")
    for first in (0, 10, 20):
        spark.range(first, first + 10).coalesce(1).write.format("delta").mode("append").save(table.uri)
    size = plan_compaction(spark, table, ANY).chunks[0].bytes // 3
    # No two of them fit into one file: they are clustered all the same, and afterwards left alone.
    scope = Scope(target_bytes=int(size * 1.4))
    (chunk,) = plan_compaction(spark, table, scope).chunks
    assert (chunk.name, chunk.files, chunk.files_after) == ("the whole table", 3, 2)
    assert [each.removed for each in done(spark, table, [chunk], scope)] == [3]
    assert plan_compaction(spark, table, scope).chunks == []
    assert spark.read.format("delta").load(table.uri).count() == 30


def test_the_plan_is_printed_and_only_execute_acts(
    spark: SparkSession, table: Location, capsys: pytest.CaptureFixture[str]
) -> None:
    """Side tables too, the order being that of the tables."""
    append(spark, table, [(1, "a"), (2, "a"), (3, "b")])
    beside = location(f"{table}_quarantine")
    append(spark, beside, [(1, "x"), (2, "x"), (3, "x")])
    scope = Scope(ANY.target_bytes, closed_after_seconds=3600)
    compact_tables(spark, table, scope, execute=False)
    left_out = "  left out: 1 still written to (--all includes them)"
    assert capsys.readouterr().out.splitlines() == [
        f"{table}: nothing to compact",
        left_out,
        f"{beside}: nothing to compact",
        left_out,
        "Nothing was changed; --execute does it.",
    ]
    for each in (table, beside):
        age(spark, Path(str(each)), timedelta(hours=2))
    size = sum(sizes(spark, table, "a"))
    compact_tables(spark, table, scope, execute=False)
    planned = capsys.readouterr().out.splitlines()
    assert planned[:2] == [
        f"{table}: 2 files, {size} bytes, in 1 chunks; 1 files afterwards",
        f"  part=a: 2 files, {size} bytes, 1 afterwards",
    ]
    assert operations(spark, table) == operations(spark, beside) == ["WRITE"]
    compact_tables(spark, table, scope, execute=True)
    progress = capsys.readouterr().out.splitlines()[4:]
    assert [line.rpartition(",")[0] for line in progress] == [
        f"[1/1] {table}: part=a: 2 files into 1",
        f"[1/1] {beside}: part=x: 3 files into 1",
    ]
    assert operations(spark, table) == operations(spark, beside) == ["OPTIMIZE", "WRITE"]
