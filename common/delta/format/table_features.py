"""Which tables this process may read and write itself: those with nothing in them that only Spark's Delta can keep."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import types as T

from common.rules.compare import atom

# What a partition's value may be: its text in the log is the same for everybody.
PARTITION_TYPES = (pa.string(), pa.date32(), pa.int8(), pa.int16(), pa.int32(), pa.int64())
# By these, and by what older protocols imply, a new file is none other than in a table without them.
SUPPORTED_WRITER_FEATURES = {
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "clustering",
    "columnMapping",
    "deletionVectors",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "invariants",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}
# Delta's own default: the first columns of a table, in their order, have statistics.
INDEXED_COLUMNS = 32
INDEXED = "delta.dataSkippingNumIndexedCols"
INDEXED_BY_NAME = "delta.dataSkippingStatsColumns"
UNSUPPORTED_PROPERTIES = ("delta.constraints.", "delta.parquet.", INDEXED_BY_NAME)


Path = tuple[str, ...]


class UnsupportedTable(Exception):
    """Something is there that Spark's Delta has to deal with."""


@dataclass(frozen=True)
class WritableTable:
    """What a writer of its files has to know."""

    schema: pa.Schema
    partition_by: tuple[str, ...]
    # The columns that the log has statistics of, each by its path: a field of a struct is told by itself.
    indexed: tuple[Path, ...]

    @property
    def in_files(self) -> pa.Schema:
        """A partition's values stand in the log, and not in its files."""
        return pa.schema([field for field in self.schema if field.name not in self.partition_by])


def writable_table(metadata: Mapping[str, Any], protocol: Mapping[str, Any], schema: T.StructType) -> WritableTable:
    """As the table's log describes it."""
    properties = metadata["configuration"]
    if not set(protocol.get("writerFeatures", ())) <= SUPPORTED_WRITER_FEATURES:
        raise UnsupportedTable(f"a table with {', '.join(sorted(protocol['writerFeatures']))}")
    if properties.get("delta.columnMapping.mode", "none") != "none":
        raise UnsupportedTable("columns have other names in the files")
    for name in properties:
        if name.startswith(UNSUPPORTED_PROPERTIES):
            raise UnsupportedTable(f"property {name}")
    fields, partition_by = arrow_schema(schema), tuple(metadata["partitionColumns"])
    for name in partition_by:
        if fields.field(name).type not in PARTITION_TYPES:
            raise UnsupportedTable(f"partitions by {fields.field(name).type}")
    in_files = [field for field in schema if field.name not in partition_by]
    return WritableTable(fields, partition_by, indexed(in_files, int(properties.get(INDEXED, INDEXED_COLUMNS))))


def indexed(fields: Iterable[T.StructField], most: int) -> tuple[Path, ...]:
    """The first so many columns, or all of them where `most` is negative; a struct counts by its fields."""
    found = tuple(path for field in fields for path in paths_of(field))
    return found if most < 0 else found[:most]


def paths_of(field: T.StructField) -> list[Path]:
    if not isinstance(field.dataType, T.StructType):
        return [(field.name,)]
    return [(field.name, *path) for inner in field.dataType for path in paths_of(inner)]


def leaves(kind: T.DataType) -> int:
    return sum(leaves(field.dataType) for field in kind) if isinstance(kind, T.StructType) else 1


def arrow_schema(schema: T.StructType) -> pa.Schema:
    return pa.schema([arrow_field(field) for field in schema])


def arrow_field(field: T.StructField) -> pa.Field:
    """Generated columns, defaults, invariants and names of char(n) are in a field's metadata."""
    if not field.nullable or set(field.metadata or {}) - {"comment"}:
        raise UnsupportedTable(f"column {field.name} has a rule of its own")
    return pa.field(field.name, arrow_type(field.dataType))


def arrow_type(kind: T.DataType) -> pa.DataType:
    if isinstance(kind, T.StructType):
        return pa.struct([arrow_field(field) for field in kind])
    if isinstance(kind, T.ArrayType) and kind.containsNull:
        return pa.list_(pa.field("element", arrow_type(kind.elementType)))
    if isinstance(kind, T.MapType) and kind.valueContainsNull:
        return pa.map_(arrow_type(kind.keyType), arrow_type(kind.valueType))
    found = atom(kind)
    if found is None:
        raise UnsupportedTable(f"a column of {kind.simpleString()}")
    return found
