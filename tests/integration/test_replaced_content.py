"""What other writers do to a table between two runs: whatever replaces rows is noticed, and all else is let be."""

import shutil
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from common.delta.log import Commits
from common.delta.open_ledger import open_ledger
from common.errors import StateError
from tests.support.frames import frame

PIPELINE = "trial"
ROW = pa.table({"id": pa.array([9], pa.int64()), "part": ["a"], "degrees": [9.0]})
Act = Callable[[SparkSession, str], object]


def named(path: str) -> str:
    return f"delta.`{path}`"


def one_row(spark: SparkSession) -> DataFrame:
    return frame(spark, [(9, "a", 9.0)], "id bigint, part string, degrees double")


def complete_stream(spark: SparkSession, path: str) -> None:
    rows = spark.readStream.schema("id bigint, part string, degrees double").parquet(f"{path}-source")
    counted = rows.groupBy("id", "part").agg({"degrees": "max"}).toDF("id", "part", "degrees")
    stream = counted.writeStream.format("delta").outputMode("complete").option("checkpointLocation", f"{path}-scratch")
    assert stream.trigger(availableNow=True).start(path).awaitTermination(60)


REPLACING: dict[str, Act] = {
    "a stream in complete mode": complete_stream,
    "an overwrite of some partitions": lambda spark, path: (
        one_row(spark).write.format("delta").mode("overwrite").option("partitionOverwriteMode", "dynamic").save(path)
    ),
    "an overwrite by a condition": lambda spark, path: spark.sql(
        f"INSERT INTO {named(path)} REPLACE WHERE part = 'a' VALUES (9, 'a', 9)"  # noqa: S608  our own folder
    ),
    "CREATE OR REPLACE TABLE AS SELECT": lambda spark, path: spark.sql(
        f"CREATE OR REPLACE TABLE {named(path)} USING delta AS SELECT 9L AS id, 'a' AS part, 9D AS degrees"
    ),
    "TRUNCATE": lambda spark, path: spark.sql(f"TRUNCATE TABLE {named(path)}"),
    "an overwrite by delta-rs": lambda _, path: deltalake.write_deltalake(path, ROW, mode="overwrite"),
    "an overwrite by a condition, by delta-rs": lambda _, path: deltalake.write_deltalake(
        path, ROW, mode="overwrite", predicate="part = 'a'"
    ),
    "a new table in its place, by delta-rs": lambda _, path: deltalake.DeltaTable.create(
        path, ROW.schema, mode="overwrite"
    ),
    "RESTORE by delta-rs": lambda _, path: deltalake.DeltaTable(path).restore(0),
    "a repair by delta-rs that gives up missing files": lambda _, path: (
        next(Path(path).rglob("*.parquet")).unlink(),
        deltalake.DeltaTable(path).repair(),
    ),
}
HARMLESS: dict[str, Act] = {
    "rows are deleted": lambda spark, path: DeltaTable.forPath(spark, path).delete("id = 1"),
    "rows are deleted by delta-rs": lambda _, path: deltalake.DeltaTable(path).delete("id = 1"),
    "rows are updated by delta-rs": lambda _, path: deltalake.DeltaTable(path).update({"degrees": "0.0"}),
    "rows are appended by delta-rs": lambda _, path: deltalake.write_deltalake(path, ROW, mode="append"),
    "files are compacted by delta-rs": lambda _, path: deltalake.DeltaTable(path).optimize.z_order(["id"]),
    "a property is set": lambda spark, path: spark.sql(
        f"ALTER TABLE {named(path)} SET TBLPROPERTIES ('keeper' = 'me')"
    ),
}


@pytest.fixture
def path(spark: SparkSession, loaded: Path, tmp_path: Path) -> str:
    """A table that the pipeline has loaded, and that has grown since by a row of somebody else."""
    folder = str(tmp_path / "table")
    shutil.copytree(loaded, folder)
    one_row(spark).coalesce(1).write.parquet(f"{folder}-source")
    deltalake.write_deltalake(folder, ROW, mode="append")
    return folder


@pytest.mark.parametrize("act", REPLACING)
def test_whatever_replaces_rows_is_refused(spark: SparkSession, path: str, act: str) -> None:
    before = Commits(spark, path).version()
    REPLACING[act](spark, path)
    assert Commits(spark, path).version() > before
    with pytest.raises(StateError, match=r"replaced rows that were settled before; .*submit/epoch\.sh"):
        open_ledger(spark, path, PIPELINE).position()


@pytest.mark.parametrize("act", HARMLESS)
def test_what_leaves_the_other_rows_alone_is_let_be(spark: SparkSession, path: str, act: str) -> None:
    before = Commits(spark, path).version()
    HARMLESS[act](spark, path)
    assert Commits(spark, path).version() > before
    assert open_ledger(spark, path, PIPELINE).position().seq == 0
