"""Small merges in the driver: the same table as by Delta's MERGE, for every reader, and declined where it must be."""

import json
import resource
import shutil
from datetime import date
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import deltalake
import pytest
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from common.merge.strategies import choose_strategy
from common.model.limits import Limits
from common.settings.pipeline import Pipeline
from common.spark.session import settings
from tests.support.frames import frame
from tests.support.kinds import KINDS
from tests.support.merges import DRIVER, MERGE, SPARK, committed, merged_by, request_of
from tests.support.trial import pipeline

PARTS = ["a", "", None, "a b", "ü/=%:\\", "100%+&#?'\"{}[]^*", "1.0"]


def keyed(partition_by: list[str], *values: str, **target: Any) -> Pipeline:
    columns = {"id": "bigint", "part": "string", **dict.fromkeys(values or ["value"], "string")}
    declared = {"keys": ["id"], "prune_by": ["id"], "partition_by": partition_by} | target
    return pipeline("t", source={"columns": columns}, target=declared)


def both_ways(spark: SparkSession, stand: DataFrame, changes: DataFrame, folder: Path, declared: Pipeline) -> Path:
    """The table that the driver has made, which is what Delta has made of it too."""
    stand.coalesce(1).write.format("delta").partitionBy(*declared.target.partition_by).save(str(folder / "hand"))
    shutil.copytree(folder / "hand", folder / "merge")
    for name in ("hand", "merge"):
        merged_by(DRIVER if name == "hand" else MERGE, request_of(changes, folder / name, declared))
    contents = {
        name: sorted(map(str, spark.read.format("delta").load(str(folder / name)).collect()))
        for name in ("hand", "merge")
    }
    assert contents["hand"] == contents["merge"]
    return folder / "hand"


NAMES = {f"v{number}": kind for number, kind in enumerate(KINDS)}
EVERY_KIND = ", ".join(["id bigint, part string", *(f"{name} {kind}" for name, kind in NAMES.items())])
# In so many rows each value of each kind comes once at least.
AT_MOST = max(map(len, KINDS.values()))


def of_every_kind(number: int, part: str, turn: int) -> tuple[Any, ...]:
    return (number, part, *(values[turn % len(values)] for values in KINDS.values()))


def test_values_of_every_kind_are_the_same_to_every_reader(spark: SparkSession, tmp_path: Path) -> None:
    """In rows that stand, that change, and that are new."""
    stand = frame(spark, [of_every_kind(n, "a", n) for n in range(AT_MOST)], EVERY_KIND)
    turned = [of_every_kind(n, "a", n + 1) for n in range(0, AT_MOST, 2)]
    new = [of_every_kind(100 + n, "b", n) for n in range(AT_MOST)]
    changes = frame(spark, [*turned, *new], EVERY_KIND).localCheckpoint()
    path = both_ways(spark, stand, changes, tmp_path, keyed(["part"], *NAMES))
    others = deltalake.DeltaTable(path).to_pyarrow_table().sort_by("id")
    found = spark.read.format("delta").load(str(path)).orderBy("id").toArrow()
    assert found["id"].to_pylist() == [*range(AT_MOST), *range(100, 100 + AT_MOST)]
    for name in ("id", "part", *NAMES):
        assert str(others[name].cast(found[name].type).to_pylist()) == str(found[name].to_pylist()), name


def test_what_is_told_of_a_file_hides_no_row_from_delta(spark: SparkSession, tmp_path: Path) -> None:
    """Each value alone in a file of the driver's: Delta finds it by an equal one."""
    frame(spark, [], EVERY_KIND).write.format("delta").save(str(tmp_path))
    for number in range(AT_MOST):
        changes = frame(spark, [of_every_kind(number, "a", number)], EVERY_KIND).localCheckpoint()
        merged_by(DRIVER, request_of(changes, tmp_path, keyed([], *NAMES), seq=number + 1))
    table = spark.read.format("delta").load(str(tmp_path))
    assert len(table.inputFiles()) == AT_MOST
    sortable = {name: kind for name, kind in NAMES.items() if "<" not in kind}
    rows = table.collect()
    asked = {(name, row["id"]): row[name] for row in rows for name in sortable if row[name] is not None}
    answers = []
    for skipping in ("true", "false"):
        with settings(spark, {"spark.databricks.delta.stats.skipping": skipping}):
            found = [table.where(is_equal(*each)).select("id") for each in wanted(asked, sortable)]
            answers.append([sorted(row["id"] for row in each.collect()) for each in found])
    assert answers[0] == answers[1]
    assert all(number in answer for (_, number), answer in zip(asked, answers[0], strict=True))


def test_what_is_told_of_nested_columns_is_what_delta_tells(spark: SparkSession, tmp_path: Path) -> None:
    """The same rows in a file of the driver's and in one of Delta's."""
    nested = {name: kind for name, kind in NAMES.items() if "<" in kind}
    rows = frame(spark, [of_every_kind(n, "a", n) for n in range(AT_MOST)], EVERY_KIND)
    kept = rows.select("id", "part", *nested).coalesce(1).localCheckpoint()
    kept.write.format("delta").save(str(tmp_path / "delta"))
    kept.limit(0).write.format("delta").save(str(tmp_path / "hand"))
    merged_by(DRIVER, request_of(kept, tmp_path / "hand", keyed([], *nested)))
    by_hand, by_delta = (statistics_in(tmp_path / name) for name in ("hand", "delta"))
    assert by_hand == by_delta
    assert set(nested) <= set(by_hand["nullCount"])


def statistics_in(path: Path) -> Any:
    """Of the one file, without the objects that say nothing."""
    last = max((path / "_delta_log").glob("*.json"))
    (added,) = [json.loads(line)["add"] for line in last.read_text().splitlines() if line.startswith('{"add"')]

    def speaking(found: Any) -> Any:
        inside = {name: speaking(each) for name, each in found.items()} if isinstance(found, dict) else found
        return {name: each for name, each in inside.items() if each != {}} if isinstance(found, dict) else found

    return speaking(json.loads(added["stats"]))


def wanted(asked: dict[tuple[str, int], Any], kinds: dict[str, str]) -> list[tuple[str, str, Any]]:
    return [(name, kinds[name], value) for (name, _), value in asked.items()]


def is_equal(name: str, kind: str, value: Any) -> Column:
    """As a text: on its way to Java, an early date would change its calendar."""
    return F.col(name) == (F.lit(str(value)) if isinstance(value, date) else F.lit(value)).cast(kind)


@pytest.mark.parametrize("kind", ["string", "int", "date"])
def test_partitions_are_those_that_delta_makes(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Folders and the log's values, of rows that stand, move from one partition to another, and are new."""
    values = {"string": PARTS, "int": [-5, 0, None, 2**31 - 1], "date": [date(1, 1, 1), date(2024, 2, 29), None]}[kind]
    schema = f"id bigint, part {kind}, value string"
    rows = [(n, value, "old") for n, value in enumerate(values)]
    moved = [(n, values[n - 1], "new") for n in range(0, len(values), 2)]
    added = [(50 + n, value, "new") for n, value in enumerate(values)]
    changes = frame(spark, moved + added, schema).localCheckpoint()
    path = both_ways(spark, frame(spark, rows, schema), changes, tmp_path, keyed(["part"]))

    def partitions(name: str) -> set[tuple[str, str | None]]:
        files = deltalake.DeltaTable(tmp_path / name).get_add_actions(flatten=True).to_struct_array().to_pylist()
        return {(unquote(file["path"]).rpartition("/")[0], str(file["partition.part"])) for file in files}

    assert partitions("hand") == partitions("merge")
    for row in spark.read.format("delta").load(str(path)).select(F.col("part").cast("string")).distinct().collect():
        wanted = F.col("part").eqNullSafe(F.lit(row["part"]).cast(kind))
        assert spark.read.format("delta").load(str(path)).where(wanted).count() > 0


def test_a_candidate_that_nothing_changes_in_stays(spark: SparkSession, tmp_path: Path) -> None:
    """Also where an event reached it that a newer row keeps out, or a delete of nothing."""
    declared = keyed(["part"], sequence="value")
    for part in ("a", "b", "c"):
        rows = frame(spark, [(n, part, "5") for n in (1, 9)], "id bigint, part string, value string")
        shifted = rows.selectExpr("id + 10 * (ascii(part) - 97) AS id", "part", "value")
        shifted.coalesce(1).write.format("delta").partitionBy("part").mode("append").save(str(tmp_path))
    changes = [(1, "a", "4"), (11, "b", "6"), (25, "c", "1")]
    given = frame(spark, changes, "id bigint, part string, value string").localCheckpoint()
    merged_by(DRIVER, request_of(given, tmp_path, declared))
    (last,) = DeltaTable.forPath(spark, str(tmp_path)).history(1).collect()
    told = {name: int(value) for name, value in last["operationMetrics"].items() if "Time" not in name}
    assert (told["numTargetFilesRemoved"], told["numTargetFilesAdded"]) == (2, 2)
    assert (told["numTargetRowsInserted"], told["numTargetRowsUpdated"], told["numTargetRowsCopied"]) == (1, 1, 3)
    content = sorted(tuple(row) for row in spark.read.format("delta").load(str(tmp_path)).collect())
    assert content == [
        (1, "a", "5"),
        (9, "a", "5"),
        (11, "b", "6"),
        (19, "b", "5"),
        (21, "c", "5"),
        (25, "c", "1"),
        (29, "c", "5"),
    ]


# Of the kinds that scenarios.py does not order by.
@pytest.mark.parametrize("kind", ["decimal(38,18)", "date", "bigint"])
def test_a_sequence_of_each_kind_orders_as_in_the_merge(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """Every value against every other, null and what is not a number among them."""
    values, schema = KINDS[kind], f"id bigint, part string, value {kind}"
    pairs = [(one, other) for one in values for other in values if other is not None]
    stand = frame(spark, [(n, "a", one) for n, (one, _) in enumerate(pairs)], schema)
    changes = frame(spark, [(n, "b", other) for n, (_, other) in enumerate(pairs)], schema)
    both_ways(spark, stand, changes.localCheckpoint(), tmp_path, keyed([], sequence="value"))


# Of the kinds that are no key in scenarios.py.
@pytest.mark.parametrize("kind", ["float", "binary"])
def test_a_key_of_each_kind_is_found(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """What is equal to Spark is equal here; a row whose key is null is nobody's."""
    schema = f"id bigint, part string, value {kind}"
    stand = frame(spark, [(1, "a", value) for value in KINDS[kind]], schema).dropDuplicates(["value"])
    changes = stand.where("value IS NOT NULL").selectExpr("id", "'b' AS part", "value").localCheckpoint()
    both_ways(spark, stand, changes, tmp_path, keyed([], keys=["id", "value"]))


THREE = "id bigint, part string, value string"
# By what is special in a table: its columns, its properties, and why the driver declines it.
TABLES = {
    "a column that must be set": (
        "id bigint, part string NOT NULL, value string",
        "",
        "column part has a rule of its own",
    ),
    "a constraint": (THREE, "'delta.constraints.c' = 'id > 0'", "property delta.constraints.c"),
    "columns mapped by their ids": (THREE, "'delta.columnMapping.mode' = 'id'", "columns are mapped by id"),
    "a variant": (f"{THREE}, more variant", "", "a table with variantType"),
    "chosen statistics": (
        THREE,
        "'delta.dataSkippingStatsColumns' = 'id'",
        "property delta.dataSkippingStatsColumns",
    ),
    "a generated column": (f"{THREE}, twice bigint GENERATED ALWAYS AS (id * 2)", "", "Delta computes column twice"),
    "row tracking": (THREE, "'delta.enableRowTracking' = 'true'", "a table with rowTracking"),
}


@pytest.mark.parametrize("table", TABLES)
def test_what_only_spark_knows_to_write_is_left_to_it(spark: SparkSession, tmp_path: Path, table: str) -> None:
    columns, properties, reason = TABLES[table]
    more = f" TBLPROPERTIES ({properties})" if properties else ""
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/table` ({columns}) USING delta{more}")
    changes = frame(spark, [(1, "a", "x")], "id bigint, part string, value string").localCheckpoint()
    assert reason_to_decline(changes, tmp_path / "table") == reason
    assert spark.read.format("delta").load(f"{tmp_path}/table").select("id", "part", "value").collect() == [
        (1, "a", "x")
    ]


def reason_to_decline(changes: DataFrame, path: Path) -> str:
    """Of a batch that another strategy has merged after all."""
    request = request_of(changes, path, keyed([]))
    chosen = choose_strategy(request)
    committed(request, chosen.prepared)
    return chosen.declined[DRIVER]


def test_a_disk_that_refuses_the_driver_is_an_error_and_not_a_slower_batch(spark: SparkSession, tmp_path: Path) -> None:
    """Nobody would see it otherwise; and nothing of what was begun remains."""
    frame(spark, [(1, "a", "x")], "id bigint, part string, value string").write.format("delta").save(str(tmp_path))
    changes = frame(spark, [(1, "b", "y")], "id bigint, part string, value string").localCheckpoint()
    files = set(tmp_path.rglob("*.parquet"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            choose_strategy(request_of(changes, tmp_path, keyed([])))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert set(tmp_path.rglob("*.parquet")) == files
    assert spark.read.format("delta").load(str(tmp_path)).collect() == [(1, "a", "x")]


def test_a_copy_of_a_table_that_names_files_elsewhere(spark: SparkSession, tmp_path: Path) -> None:
    frame(spark, [(1, "a", "x")], "id bigint, part string, value string").write.format("delta").save(f"{tmp_path}/one")
    spark.sql(f"CREATE TABLE delta.`{tmp_path}/two` SHALLOW CLONE delta.`{tmp_path}/one`")
    changes = frame(spark, [(1, "b", "y")], "id bigint, part string, value string").localCheckpoint()
    assert "lies elsewhere" in reason_to_decline(changes, tmp_path / "two")
    assert spark.read.format("delta").load(f"{tmp_path}/two").collect() == [(1, "b", "y")]


def test_many_rows_in_few_bytes_are_not_for_the_driver(spark: SparkSession, tmp_path: Path) -> None:
    rows = frame(spark, [(n, "a", "x") for n in (1, 2)], "id bigint, part string, value string")
    rows.coalesce(1).write.format("delta").save(str(tmp_path))
    for number, strategy in ((1, SPARK), (7, DRIVER)):
        given = frame(spark, [(number, "b", "y")], rows.schema).localCheckpoint()
        chosen = choose_strategy(request_of(given, tmp_path, keyed([]), limits=Limits(rewrite_rows=1)))
        assert chosen.strategy == strategy
