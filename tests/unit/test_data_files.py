"""Data files that the driver writes: what is told of them must never hide a row, and what is read must be the row."""

import json
import random
import resource
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.delta.candidate_files import data_file_of
from common.delta.format.data_file import DataFile
from common.delta.format.errors import UnsupportedTable
from common.delta.format.file_stats import statistics_of
from common.delta.format.parquet_files import MemoryBudget, escaped, rows_of, write_data_file, write_files
from common.delta.format.writable_table import WritableTable, leaf_paths, writable_table

TIME = pa.timestamp("us", tz="UTC")
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
LONG = "x" * 32
EMPTY: tuple[Any, Any] = (None, None)
NOTHING = ("nothing", "nothing")


def told_of(values: list[Any], kind: pa.DataType) -> tuple[Any, Any]:
    """The least and the greatest in the log's words."""
    found = json.loads(statistics_of(pa.table({"c": pa.array(values, kind)}), (("c",),), len(values)), parse_float=str)
    assert found["numRecords"] == len(values)
    if "nullCount" not in found:
        return NOTHING
    assert found["nullCount"] == {"c": values.count(None)}
    assert found["minValues"].keys() == found["maxValues"].keys()
    return found["minValues"].get("c"), found["maxValues"].get("c")


@pytest.mark.parametrize(
    ("values", "kind", "told"),
    [
        ([3, None, -5], pa.int64(), (-5, 3)),
        ([None, None], pa.int64(), EMPTY),
        ([], pa.int64(), EMPTY),
        ([True, False], pa.bool_(), EMPTY),
        ([b"a", b"b"], pa.binary(), EMPTY),
        ([1.5, -2.5, None], pa.float64(), ("-2.5", "1.5")),
        ([1.5, float("nan")], pa.float64(), ("1.5", "NaN")),
        ([float("nan")], pa.float64(), ("NaN", "NaN")),
        ([1.5, float("inf")], pa.float64(), ("1.5", "Infinity")),
        ([float("-inf"), 1.5], pa.float32(), ("-Infinity", "1.5")),
        ([0.0], pa.float64(), ("0.0", "0.0")),
        ([-0.0], pa.float64(), ("-0.0", "-0.0")),
        ([0.0, -0.0, 1.0], pa.float64(), ("-0.0", "1.0")),
        ([0.0, -0.0, -1.0], pa.float64(), ("-1.0", "0.0")),
        (["b", "a"], pa.string(), ("a", "b")),
        (["", "é"], pa.string(), ("", "é")),
        ([LONG], pa.string(), (LONG, LONG)),
        ([LONG + "y"], pa.string(), (LONG, LONG + "\U0010ffff")),
        (["🌡" * 40], pa.string(), ("🌡" * 32, "🌡" * 32 + "\U0010ffff")),
        ([LONG + "\U0010ffffzz"], pa.string(), (LONG, LONG + "\U0010ffff\U0010ffff")),
        ([LONG + "\U0010ffff"], pa.string(), (LONG, LONG + "\U0010ffff")),
        ([date(2024, 2, 29), date(1, 1, 1)], pa.date32(), ("0001-01-01", "2024-02-29")),
        ([-719_163], pa.date32(), NOTHING),
        ([2_932_897], pa.date32(), NOTHING),
        ([NOON + timedelta(microseconds=1_999)], TIME, ("2024-05-01T12:00:00.001Z", "2024-05-01T12:00:00.001Z")),
        ([-1], TIME, ("1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z")),
        ([-62_135_596_800_000_000], TIME, ("0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z")),
        ([253_402_300_800_000_000], TIME, NOTHING),
        ([Decimal("12.30"), Decimal("-0.10")], pa.decimal128(9, 2), ("-0.10", "12.30")),
        ([Decimal("1e16")], pa.decimal128(38, 2), ("10000000000000000.00", "10000000000000000.00")),
        ([Decimal("12345678901234567890.12")], pa.decimal128(38, 2), ("12345678901234567890.12",) * 2),
    ],
)
def test_what_is_told_of_a_column(values: list[Any], kind: pa.DataType, told: tuple[Any, Any]) -> None:
    assert told_of(values, kind) == told


def test_no_text_is_less_than_the_least_or_greater_than_the_greatest() -> None:
    chance = random.Random(5)
    letters = ["a", "z", "\x7f", "é", "\ud7ff", "\ue000", "\U0001f321", "\U0010ffff"]
    for _ in range(300):
        texts = ["".join(chance.choices(letters, k=chance.choice([3, 32, 33, 40]))) for _ in range(5)]
        least, greatest = told_of(texts, pa.string())
        assert all(least.encode() <= text.encode() <= greatest.encode() for text in texts)


def log_field(name: str, kind: Any = "integer") -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def log_metadata(*fields: dict[str, Any], by: tuple[str, ...] = (), **properties: str) -> dict[str, Any]:
    schema = json.dumps({"type": "struct", "fields": fields})
    return {"configuration": properties, "partitionColumns": list(by), "schemaString": schema}


def test_columns_are_told_of_in_their_order_and_a_struct_counts_by_its_fields() -> None:
    inner = {"type": "struct", "fields": [log_field("z")]}
    struct = {"type": "struct", "fields": [log_field("x"), log_field("y", inner)]}
    fields = [log_field("a"), log_field("s", struct), log_field("b")]
    limits = {"delta.dataSkippingNumIndexedCols": "3"}
    every = (("a",), ("s", "x"), ("s", "y", "z"), ("b",))
    assert leaf_paths(fields[1]) == [("s", "x"), ("s", "y", "z")]
    assert writable_table(log_metadata(*fields), {}).indexed == every
    assert writable_table(log_metadata(*fields, **limits), {}).indexed == every[:3]
    assert writable_table(log_metadata(*fields, **dict.fromkeys(limits, "0")), {}).indexed == ()
    assert writable_table(log_metadata(*fields, **dict.fromkeys(limits, "-1")), {}).indexed == every


def test_the_fields_of_a_struct_are_told_of_and_a_list_or_a_map_only_by_its_nulls() -> None:
    struct = pa.struct([("x", pa.int64()), ("y", pa.struct([("z", pa.string())])), ("l", pa.list_(pa.int64()))])
    rows = pa.table(
        {
            "s": pa.array([{"x": 3, "y": {"z": "b"}, "l": [1]}, None, {"x": -1, "y": None, "l": None}], struct),
            "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        }
    )
    paths = (("s", "x"), ("s", "y", "z"), ("s", "l"), ("m",))
    assert json.loads(statistics_of(rows, paths, 3)) == {
        "numRecords": 3,
        "minValues": {"s": {"x": -1, "y": {"z": "b"}}},
        "maxValues": {"s": {"x": 3, "y": {"z": "b"}}},
        "nullCount": {"s": {"x": 1, "y": {"z": 2}, "l": 2}, "m": 1},
    }


TABLE = WritableTable(
    pa.schema([("id", pa.int64()), ("part", pa.string()), ("at", TIME)]),
    ("part",),
    (("id",), ("at",)),
    {name: name for name in ("id", "part", "at")},
    frozenset(),
    has_change_feed=False,
)


def file_at(path: str) -> DataFile:
    return data_file_of({"path": path, "partitionValues": {"part": "a"}, "size": 1, "modificationTime": 1})


@pytest.mark.parametrize("part", ["a", None, "a b", "ü/=%:\\", "100%", "a+b&c#d?", "__x"])
def test_a_file_is_found_where_the_log_says_whatever_its_partition_is_called(tmp_path: Path, part: str | None) -> None:
    rows = pa.table([[1, 2], [part, part], [NOON, None]], schema=TABLE.schema)
    entry = write_data_file(tmp_path, {"part": part}, rows, TABLE)
    assert rows_of(tmp_path, data_file_of(entry), TABLE, MemoryBudget(2**20)).equals(rows)
    assert entry["size"] == next(tmp_path.rglob("*.parquet")).stat().st_size
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_a_folder_is_named_as_by_hive() -> None:
    assert escaped("a:b/c=d %'\"\n") == "a%3Ab%2Fc%3Dd %25%27%22%0A"
    assert escaped(None) == "__HIVE_DEFAULT_PARTITION__"


def test_a_column_that_came_later_is_null_in_older_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "old.parquet")
    found = rows_of(
        tmp_path,
        file_at("old.parquet"),
        TABLE,
        MemoryBudget(2**20),
    )
    assert found.to_pylist() == [{"id": 1, "part": "a", "at": None}]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (pa.table({"ID": [1]}), "differs by case"),
        (pa.table({"id": pa.array([1], pa.int32())}), "column id is int32"),
        (pa.table({"id": [1], "at": pa.array([1], pa.timestamp("us"))}), "column at is timestamp"),
        (pa.table({"id": [1]}).replace_schema_metadata({"org.apache.spark.legacyDateTime": ""}), "Julian"),
        (pa.table({"id": [1]}).replace_schema_metadata({"org.apache.spark.version": "2.4.8"}), "Julian"),
    ],
)
def test_what_a_file_says_in_another_way_is_for_spark_to_read(tmp_path: Path, rows: pa.Table, said: str) -> None:
    pq.write_table(rows, tmp_path / "other.parquet")
    with pytest.raises(UnsupportedTable, match=said):
        rows_of(
            tmp_path,
            file_at("other.parquet"),
            TABLE,
            MemoryBudget(2**20),
        )


def test_a_file_of_another_table_is_for_spark_to_read(tmp_path: Path) -> None:
    for path in ("file:///elsewhere/x.parquet", "/elsewhere/x.parquet", "s3a://bucket/x.parquet"):
        with pytest.raises(UnsupportedTable, match="lies elsewhere"):
            rows_of(
                tmp_path,
                file_at(path),
                TABLE,
                MemoryBudget(2**20),
            )


@pytest.fixture
def no_file_above_1000_bytes() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.usefixtures("no_file_above_1000_bytes")
def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    rows = pa.table([list(range(1000)), ["a"] * 1000, [NOON] * 1000], schema=TABLE.schema)
    with pytest.raises(OSError, match="File too large"):
        write_data_file(tmp_path, {"part": "a"}, rows, TABLE)
    assert list(tmp_path.rglob("*.parquet")) == []


def test_what_is_larger_in_memory_than_the_driver_may_hold_is_for_spark(tmp_path: Path) -> None:
    rows = pa.table([list(range(1000)), ["a"] * 1000, [NOON] * 1000], schema=TABLE.schema)
    file = data_file_of(write_data_file(tmp_path, {"part": "a"}, rows, TABLE))
    with pytest.raises(UnsupportedTable, match="larger in memory"):
        rows_of(tmp_path, file, TABLE, MemoryBudget(1000))


def test_partitions_by_what_has_no_one_text_are_for_spark_to_write() -> None:
    fields = [log_field("id", "long"), log_field("at", "timestamp")]
    with pytest.raises(UnsupportedTable, match="partitions by timestamp"):
        writable_table(log_metadata(*fields, by=("at",)), {})
    assert writable_table(log_metadata(*fields, by=("id",)), {}).indexed == (("at",),)


def test_if_one_of_several_files_cannot_be_written_none_stays(
    tmp_path: Path,
    no_file_above_1000_bytes: None,
) -> None:
    """A partition of one row fits, one of many does not."""
    small = pa.table([[1], ["a"], [NOON]], schema=TABLE.schema)
    large = pa.table([list(range(1000)), ["b"] * 1000, [NOON] * 1000], schema=TABLE.schema)
    with pytest.raises(OSError, match="File too large"):
        write_files(tmp_path, TABLE, [(write_data_file, {("a",): [small], ("b",): [large]})])
    assert list(tmp_path.rglob("*.parquet")) == []
    assert len(write_files(tmp_path, TABLE, [(write_data_file, {("a",): [small]})])[0]) == 1
