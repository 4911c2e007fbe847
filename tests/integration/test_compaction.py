"""Compaction: only where files are many and small, one commit a partition, the same rows afterwards."""

from pathlib import Path

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.pipeline.compaction import Chunk, compact, plan_compaction
from common.settings.locations import location

MEBIBYTE = 1024 * 1024


def test_crowded_partitions_are_rewritten_one_commit_each(spark: SparkSession, tmp_path: Path) -> None:
    table = location(str(tmp_path / "table"))
    rows = [(1, "it's"), (2, "it's"), (3, None), (4, None), (5, "alone")]
    spark.createDataFrame(rows, "id bigint, part string").repartition(5, "id").write.format("delta").partitionBy(
        "part"
    ).option("maxRecordsPerFile", 1).save(table.uri)
    chunks = plan_compaction(spark, table, MEBIBYTE)
    assert [(chunk.partition, chunk.files) for chunk in chunks] == [({"part": "it's"}, 2), ({"part": None}, 2)]
    assert list(compact(spark, table, chunks, MEBIBYTE)) == chunks
    assert plan_compaction(spark, table, MEBIBYTE) == []
    history = [row["operation"] for row in DeltaTable.forPath(spark, table.uri).history().collect()]
    assert history == ["OPTIMIZE", "OPTIMIZE", "WRITE"]
    assert sorted(spark.read.format("delta").load(table.uri).collect()) == sorted(
        map(tuple, rows), key=lambda row: row[0]
    )


def test_a_table_without_partitions_is_one_chunk(spark: SparkSession, tmp_path: Path) -> None:
    table = location(str(tmp_path / "table"))
    spark.range(4).repartition(4).write.format("delta").option("maxRecordsPerFile", 1).save(table.uri)
    (chunk,) = plan_compaction(spark, table, MEBIBYTE)
    assert chunk == Chunk({}, 4, chunk.bytes)
    assert str(chunk).startswith("the whole table: 4 files, ")
    list(compact(spark, table, [chunk], MEBIBYTE))
    assert len(spark.read.format("delta").load(table.uri).inputFiles()) == 1
