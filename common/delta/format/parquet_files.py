"""Read and write the data files of a table on a disk of this machine, without Spark."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import date
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, unquote, urlparse
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from common.delta.format.data_file import DataFile, Entry
from common.delta.format.errors import UnsupportedTable
from common.delta.format.file_stats import statistics_of
from common.delta.format.writable_table import WritableTable
from common.rules.compare import ARROW_TYPES

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Characters of a partition value that Spark escapes in the name of its folder.
ESCAPED = {*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"}
# Readers derive the calendar of the times in a file from this version. Spark's is Gregorian since 3.1.
SPARK = "org.apache.spark.version"
GREGORIAN_VERSION = "4.0.2"
# The folder of the change feed's files.
CHANGE_DATA = "_change_data/"
JULIAN_VERSIONS = (b"1.", b"2.", b"3.0.")
JULIAN = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
THREADS = 4
# The texts of a partition's values.
Partition = tuple[str | None, ...]
WriteFile = Callable[[Path, Mapping[str, str | None], pa.Table, WritableTable], Entry]


class MemoryBudget:
    """Memory budget shared by the reader threads; Parquet expands many times when it is read."""

    def __init__(self, most_bytes: int) -> None:
        self._left, self._lock = most_bytes, Lock()

    def take(self, size: int) -> None:
        with self._lock:
            self._left -= size
            if self._left < 0:
                raise UnsupportedTable("the candidates are larger in memory than in their files")


def read_files(folder: Path, files: Sequence[DataFile], table: WritableTable, memory: int) -> list[pa.Table]:
    """Read all rows of these files, at most `memory` bytes of them."""
    budget = MemoryBudget(memory)
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(lambda file: rows_of(folder, file, table, budget), files))


def rows_of(folder: Path, file: DataFile, table: WritableTable, budget: MemoryBudget) -> pa.Table:
    """Read all rows of a file, with the columns of the table. A column that is newer than the file is null."""
    if urlparse(file.path).scheme or file.path.startswith("/"):
        raise UnsupportedTable(f"{file.path} lies elsewhere")
    with pq.ParquetFile(folder / unquote(file.path), coerce_int96_timestamp_unit="us") as parquet:
        refuse_other_calendar(file, parquet.metadata.metadata or {})
        known = {name.lower() for name in parquet.schema_arrow.names}
        wanted = [name for name in names_in_files(table) if name.lower() in known]
        if not set(wanted) <= set(parquet.schema_arrow.names):
            raise UnsupportedTable(f"{file.path} has a column that differs by case")
        content = in_utc(read_into(budget, parquet, wanted), parquet.schema)
    rows = pa.table([column_of(field, content, file, table.widened) for field in table.schema], schema=table.schema)
    budget.take(rows.nbytes - content.nbytes)
    return rows


def names_in_files(table: WritableTable) -> list[str]:
    """Return the columns of the files: those of partitions are in the log."""
    return [name for name in table.schema.names if name not in table.partition_by]


def read_into(budget: MemoryBudget, parquet: pq.ParquetFile, columns: list[str]) -> pa.Table:
    batches = []
    for batch in parquet.iter_batches(columns=columns):
        budget.take(batch.nbytes)
        batches.append(batch)
    return pa.Table.from_batches(batches) if batches else parquet.read(columns=columns)


def in_utc(content: pa.Table, schema: pq.ParquetSchema) -> pa.Table:
    """Set the zone of times in Spark's own form of 96 bits, which does not say that they are UTC."""
    columns = [schema.column(index) for index in range(len(schema.names))]
    times = {column.path.partition(".")[0] for column in columns if column.physical_type == "INT96"}
    others = {column.path.partition(".")[0] for column in columns if column.logical_type.type == "TIMESTAMP"}
    # A column that has times in both forms stays as it is, so that Spark has to read the file.
    fields = [
        field.with_type(type_in_utc(field.type)) if field.name in times - others else field for field in content.schema
    ]
    return content.cast(pa.schema(fields)) if times else content


def type_in_utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(type_in_utc(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(type_in_utc(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, type_in_utc(kind.item_type))
    return ARROW_TYPES["timestamp"] if pa.types.is_timestamp(kind) else kind


def refuse_other_calendar(file: DataFile, metadata: Mapping[bytes, bytes]) -> None:
    if any(key in metadata for key in JULIAN) or metadata.get(SPARK.encode(), b"").startswith(JULIAN_VERSIONS):
        raise UnsupportedTable(f"{file.path} has times of the Julian calendar")


def column_of(field: pa.Field, rows: pa.Table, file: DataFile, widened: frozenset[str]) -> pa.Array | pa.ChunkedArray:
    """Read a column of the table: from the log where it partitions the table, null where it is newer than the file."""
    if field.name in file.partition_values:
        value = partition_value(file.partition_values[field.name], field.type)
        return pa.repeat(pa.scalar(value, field.type), rows.num_rows)
    if field.name not in rows.column_names:
        return pa.nulls(rows.num_rows, field.type)
    column = rows[field.name]
    if column.type == field.type:
        return column
    if field.name not in widened:
        raise UnsupportedTable(f"column {field.name} is {column.type} in {file.path}")
    return column.cast(field.type)


def partition_value(text: str | None, kind: pa.DataType) -> Any:
    """Parse a partition value from its text in the log. An empty text is null."""
    if not text or pa.types.is_string(kind):
        return text or None
    return date.fromisoformat(text) if pa.types.is_date(kind) else int(text)


def write_files(
    folder: Path, table: WritableTable, kinds: Sequence[tuple[WriteFile, Mapping[Partition, Sequence[pa.Table]]]]
) -> list[list[Entry]]:
    """Write a file for each partition that has rows, or none at all: if one of them fails, the others are deleted."""
    with ThreadPoolExecutor(THREADS) as threads:
        futures = [
            [
                threads.submit(write_file, folder, dict(zip(table.partition_by, partition, strict=True)), rows, table)
                for partition, several in parts.items()
                if (rows := pa.concat_tables(several)).num_rows
            ]
            for write_file, parts in kinds
        ]
    every = [future for several in futures for future in several]
    failures = [error for future in every if (error := future.exception()) is not None]
    if failures:
        remove_written(folder, every)
        raise failures[0]
    return [[future.result() for future in several] for several in futures]


def remove_written(folder: Path, futures: Sequence[Future[Entry]]) -> None:
    for future in futures:
        if future.exception() is None:
            (folder / unquote(future.result()["path"])).unlink()


def write_data_file(folder: Path, partition: Mapping[str, str | None], rows: pa.Table, table: WritableTable) -> Entry:
    """Write a new file, which nobody sees before the commit. Return its `add` entry for the log."""
    content = rows.select(names_in_files(table))
    entry, count = write_new(folder, f"{partition_folder(partition)}part-", partition, content)
    return {
        **entry,
        "modificationTime": int((folder / unquote(entry["path"])).stat().st_mtime_ns) // 1_000_000,
        "dataChange": True,
        "stats": statistics_of(content, table.indexed, count),
    }


def write_feed_file(folder: Path, partition: Mapping[str, str | None], rows: pa.Table, table: WritableTable) -> Entry:
    """Write a file of the change feed. Return its `cdc` entry for the log."""
    content = rows.drop_columns(list(table.partition_by))
    entry, _ = write_new(folder, f"{CHANGE_DATA}{partition_folder(partition)}cdc-", partition, content)
    return {**entry, "dataChange": False}


def write_new(
    folder: Path, prefix: str, partition: Mapping[str, str | None], content: pa.Table
) -> tuple[dict[str, Any], int]:
    """Write a Parquet file under a new name. Return what each kind of entry has in common, and its rows."""
    path = f"{prefix}00000-{uuid4()}.c000.snappy.parquet"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    try:
        count = write_parquet(content, folder / path)
        size = (folder / path).stat().st_size
    except BaseException:
        (folder / path).unlink(missing_ok=True)
        raise
    return {"path": quote(path, safe="/="), "partitionValues": dict(partition), "size": size}, count


def partition_folder(partition: Mapping[str, str | None]) -> str:
    return "".join(f"{escaped(name)}={escaped(text)}/" for name, text in partition.items())


def write_parquet(content: pa.Table, path: Path) -> int:
    """Write a Parquet file, and return how many rows its footer has."""
    with pq.ParquetWriter(path, content.schema, compression="snappy", store_schema=False) as writer:
        writer.write_table(content)
        writer.add_key_value_metadata({SPARK: GREGORIAN_VERSION})
    return int(pq.read_metadata(path).num_rows)


def escaped(text: str | None) -> str:
    """Escape a text as Spark does in the name of a partition's folder."""
    if text is None:
        return NO_VALUE
    return "".join(f"%{ord(char):02X}" if char in ESCAPED else char for char in text)
