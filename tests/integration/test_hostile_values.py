"""Values that nobody expects as keys, partitions and columns to prune by: one row a key in each way to commit."""

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from common.ledger.delta import transaction
from common.ledger.position import Position
from common.merge import reach as reach_module
from common.merge.bounds import Span
from common.merge.kernel import as_kernel_sees
from common.pipeline import compaction, ways
from common.pipeline.changes import Changes
from common.pipeline.ways import ByMerge, Directly, Task
from common.session import settings
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from tests.support.bounds import bounds_of
from tests.support.trial import pipeline

EPOCH = date(1970, 1, 1)
# Days that the calendar of java.sql.Date lacks, and the ends of what is promised.
DAYS = [date(1, 1, 1), *(date(1582, 10, day) for day in (5, 10, 14)), date(9999, 12, 31)]
NOONS = [datetime(day.year, day.month, day.day, 12, 0, 0, 123456, tzinfo=UTC) for day in DAYS]
SUBSTITUTE = "spark.sql.variable.substitute"


@pytest.fixture(params=["by hand", "by spark", "by merge"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Who rewrites the candidates; nobody else may."""
    if request.param == "by hand":
        monkeypatch.setattr(ways, "made_by_spark", None)
    if request.param != "by hand":
        monkeypatch.setattr(reach_module, "BY_HAND_BYTES", -1)
    if request.param == "by merge":
        monkeypatch.setattr(reach_module, "REWRITE_BYTES", -1)
    return str(request.param)


def keyed(kind: str, **target: Any) -> Pipeline:
    declared = {"keys": ["k"], "partition_by": [], "prune_by": ["k"]} | target
    return pipeline("t", source={"columns": {"k": kind, "n": "bigint"}}, target=declared)


def stamped(seq: int) -> Position:
    return Position("trial", 1, seq, "t", "id", {0: seq}, "run")


def rows_of(spark: SparkSession, kind: pa.DataType, values: list[Any], number: int) -> DataFrame:
    """By Arrow: on their way through py4j, early dates would change their calendar."""
    columns = {"k": pa.array(values, kind), "n": pa.array([number] * len(values), pa.int64())}
    return spark.createDataFrame(pa.table(columns)).localCheckpoint()


def one_file_each(spark: SparkSession, path: Path, kind: pa.DataType, values: list[Any], by: list[str]) -> None:
    rows = rows_of(spark, kind, values, 1).coalesce(1)
    rows.write.format("delta").mode("append").option("maxRecordsPerFile", 1).partitionBy(*by).save(str(path))


def merged(spark: SparkSession, path: Path, declared: Pipeline, changes: DataFrame, way: str) -> list[Any]:
    """The numbers of the table after a batch that has a candidate for each of its keys."""
    stamp = stamped(1)
    given = Changes(changes.schema, lambda: changes, changes.toArrow())
    bounds = bounds_of(changes, declared)
    with transaction(spark, stamp):
        found = Task(spark, location(str(path)), declared, given, changes.count(), bounds, stamp).prepare()
        assert isinstance(found, ByMerge if way == "by merge" else Directly)
        found.commit(stamp)
    return sorted(row["n"] for row in spark.read.format("delta").load(str(path)).select("n").collect())


@pytest.mark.parametrize("form", ["date", "timestamp", "partition"])
def test_early_and_late_days_are_found_in_every_way(spark: SparkSession, tmp_path: Path, way: str, form: str) -> None:
    """Each alone in its file, so that nothing but its own value leads to it."""
    kind, values = (pa.timestamp("us", tz="UTC"), NOONS) if form == "timestamp" else (pa.date32(), DAYS)
    by = ["k"] if form == "partition" else []
    one_file_each(spark, tmp_path, kind, values, by)
    declared = keyed("timestamp" if form == "timestamp" else "date", partition_by=by)
    assert merged(spark, tmp_path, declared, rows_of(spark, kind, values, 2), way) == [2] * len(values)


def test_early_and_late_days_are_counted_where_a_newer_row_keeps_them_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the MERGE a query with the same bounds counts them, by filters of Parquet."""
    monkeypatch.setattr(reach_module, "REWRITE_BYTES", -1)
    one_file_each(spark, tmp_path, pa.date32(), DAYS, [])
    changes, declared = rows_of(spark, pa.date32(), DAYS, 0), keyed("date", sequence="n")
    given = Changes(changes.schema, lambda: changes, changes.toArrow())
    bounds = bounds_of(changes, declared)
    found = Task(spark, location(str(tmp_path)), declared, given, len(DAYS), bounds, stamped(1)).prepare()
    assert (found.prospect.candidates, found.prospect.superseded) == (len(DAYS), len(DAYS))


def test_a_widened_span_holds_every_file_that_the_span_itself_holds() -> None:
    """Against the least and the greatest date of a file as Kernel reads them."""
    days = range((date(1582, 9, 25) - EPOCH).days, (date(1582, 11, 5) - EPOCH).days)
    lacking = range((date(1582, 10, 5) - EPOCH).days, (date(1582, 10, 15) - EPOCH).days)

    def read_by_kernel(day: int) -> int:
        return day + len(lacking) if day in lacking else day

    for first in days:
        for last in range(first, days[-1] + 1):
            seen = as_kernel_sees(Span(first, last), T.DateType())
            for least in range(days[0], last + 1):
                # The least that can be: the greatest date of a file that begins at `least` and reaches the span.
                greatest = max(least, first)
                assert int(seen.first) <= read_by_kernel(greatest), (first, last, least)
                assert read_by_kernel(least) <= int(seen.last), (first, last, least)


@pytest.mark.parametrize("substitute", ["true", "false"])
def test_a_key_that_names_a_variable_stays_what_it_is(
    spark: SparkSession, tmp_path: Path, way: str, substitute: str
) -> None:
    """Whatever the session says: by the MERGE's condition, the value of PATH would stand in the table's log."""
    keys = ["user-${env:PATH}", "${system:user.dir}", "${spark.app.id}", "it's \\u0024{env:PATH} \\"]
    one_file_each(spark, tmp_path, pa.string(), keys, [])
    with settings(spark, {SUBSTITUTE: substitute}):
        numbers = merged(spark, tmp_path, keyed("string"), rows_of(spark, pa.string(), keys, 2), way)
    assert numbers == [2] * len(keys)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if os.environ["PATH"].encode() in path.read_bytes()]


def test_jobs_substitute_nothing(spark: SparkSession) -> None:
    assert spark.sql("SELECT '${env:PATH}' AS text").collect() == [("${env:PATH}",)]


@pytest.mark.parametrize("substitute", ["true", "false"])
def test_a_partition_that_names_a_variable_is_compacted(spark: SparkSession, tmp_path: Path, substitute: str) -> None:
    """OPTIMIZE takes nothing but an SQL text."""
    value = "${env:PATH} it's \\"
    for _ in range(2):
        one_file_each(spark, tmp_path, pa.string(), [value], ["k"])
    table = location(str(tmp_path))
    with settings(spark, {SUBSTITUTE: substitute}):
        (chunk,) = compaction.plan_compaction(spark, table, compaction.Scope(2**20)).chunks
        metrics = compaction.optimized(spark, table, chunk)
    assert metrics is not None
    assert (metrics["numFilesRemoved"], metrics["numFilesAdded"]) == (2, 1)
