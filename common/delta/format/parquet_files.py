"""Data files of a plain table on a disk of this machine: read into memory, and written from it."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote, unquote, urlparse
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark

from common.delta.file_skipping import File
from common.delta.format.file_stats import statistics_of
from common.delta.format.table_features import UnsupportedTable, WritableTable
from common.rules.compare import ARROW_TYPES

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
# Spark writes these characters of a value otherwise in the name of its folder.
ESCAPED = {*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"}
# By its version a reader knows the calendar of the times in a file.
SPARK = "org.apache.spark.version"
JULIAN_VERSIONS = (b"1.", b"2.", b"3.0.")
JULIAN = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")


class MemoryBudget:
    """For so many bytes of rows, whichever thread reads them: a file of few bytes can hold many times as much."""

    def __init__(self, most_bytes: int) -> None:
        self._left, self._lock = most_bytes, Lock()

    def take(self, size: int) -> None:
        with self._lock:
            self._left -= size
            if self._left < 0:
                raise UnsupportedTable("the candidates are larger in memory than in their files")


def rows_of(folder: Path, file: File, table: WritableTable, room: MemoryBudget) -> pa.Table:
    """All of its rows, with the columns of the table: what the file does not know yet is null."""
    if urlparse(file.path).scheme or file.path.startswith("/"):
        raise UnsupportedTable(f"{file.path} lies elsewhere")
    with pq.ParquetFile(folder / unquote(file.path), coerce_int96_timestamp_unit="us") as parquet:
        refuse_other_calendar(file, parquet.metadata.metadata or {})
        known = {name.lower() for name in parquet.schema_arrow.names}
        wanted = [name for name in table.in_files.names if name.lower() in known]
        if not set(wanted) <= set(parquet.schema_arrow.names):
            raise UnsupportedTable(f"{file.path} has a column that differs by case")
        found = in_utc(read_into(room, parquet, wanted), parquet.schema)
    rows = pa.table([column_of(field, found, file) for field in table.schema], schema=table.schema)
    room.take(rows.nbytes - found.nbytes)
    return rows


def read_into(room: MemoryBudget, parquet: pq.ParquetFile, columns: list[str]) -> pa.Table:
    batches = []
    for batch in parquet.iter_batches(columns=columns):
        room.take(batch.nbytes)
        batches.append(batch)
    return pa.Table.from_batches(batches) if batches else parquet.read(columns=columns)


def in_utc(found: pa.Table, schema: pq.ParquetSchema) -> pa.Table:
    """Spark's own form of times, of 96 bits, does not say that they are of UTC."""
    columns = [schema.column(index) for index in range(len(schema.names))]
    times = {column.path.partition(".")[0] for column in columns if column.physical_type == "INT96"}
    others = {column.path.partition(".")[0] for column in columns if column.logical_type.type == "TIMESTAMP"}
    # A column that has times in both forms is left as it is, and for Spark to read.
    fields = [
        field.with_type(type_in_utc(field.type)) if field.name in times - others else field for field in found.schema
    ]
    return found.cast(pa.schema(fields)) if times else found


def type_in_utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(type_in_utc(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(type_in_utc(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(kind.key_type, type_in_utc(kind.item_type))
    return ARROW_TYPES["timestamp"] if pa.types.is_timestamp(kind) else kind


def refuse_other_calendar(file: File, metadata: Mapping[bytes, bytes]) -> None:
    if any(key in metadata for key in JULIAN) or metadata.get(SPARK.encode(), b"").startswith(JULIAN_VERSIONS):
        raise UnsupportedTable(f"{file.path} has times of the Julian calendar")


def column_of(field: pa.Field, found: pa.Table, file: File) -> pa.Array | pa.ChunkedArray:
    if field.name in file.partition_values:
        value = partition_value(file.partition_values[field.name], field.type)
        return pa.repeat(pa.scalar(value, field.type), found.num_rows)
    if field.name not in found.column_names:
        return pa.nulls(found.num_rows, field.type)
    column = found[field.name]
    if column.type != field.type:
        raise UnsupportedTable(f"column {field.name} is {column.type} in {file.path}")
    return column


def partition_value(text: str | None, kind: pa.DataType) -> Any:
    """By its text in the log, where an empty one is no value."""
    if not text or pa.types.is_string(kind):
        return text or None
    return date.fromisoformat(text) if pa.types.is_date(kind) else int(text)


def partition_text(value: Any) -> str | None:
    return None if value is None else str(value) or None


def write_file(
    folder: Path, partition: Mapping[str, str | None], rows: pa.Table, table: WritableTable
) -> dict[str, Any]:
    """A new file, which nobody knows of before the commit: as the log's entry of it."""
    content = rows.select(table.in_files.names)
    place = "".join(f"{escaped(name)}={escaped(text)}/" for name, text in partition.items())
    path = f"{place}part-00000-{uuid4()}.c000.snappy.parquet"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    try:
        count = write_parquet(content, folder / path)
        found = (folder / path).stat()
        statistics = statistics_of(content, table.indexed, count)
    except BaseException:
        (folder / path).unlink(missing_ok=True)
        raise
    return {
        "path": quote(path, safe="/="),
        "partitionValues": dict(partition),
        "size": found.st_size,
        "modificationTime": found.st_mtime_ns // 1_000_000,
        "dataChange": True,
        "stats": statistics,
    }


def write_parquet(content: pa.Table, path: Path) -> int:
    """Gives how many rows are found in the file then."""
    with pq.ParquetWriter(path, content.schema, compression="snappy", store_schema=False) as writer:
        writer.write_table(content)
        writer.add_key_value_metadata({SPARK: pyspark.__version__})
    return int(pq.read_metadata(path).num_rows)


def escaped(text: str | None) -> str:
    """As Spark names a partition's folder."""
    if text is None:
        return NO_VALUE
    return "".join(f"%{ord(char):02X}" if char in ESCAPED else char for char in text)
