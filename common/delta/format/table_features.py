"""Decide which tables the driver may read and write itself: those without a feature that only Spark's Delta keeps."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from common.delta.format.arrow_schema import TYPE_CHANGES, arrow_schema, leaf_paths, physical_name
from common.delta.format.errors import UnsupportedTable

# Types of partition columns whose text in the log is the same for everybody.
PARTITION_TYPES = (pa.string(), pa.date32(), pa.int8(), pa.int16(), pa.int32(), pa.int64())
# Writer features that do not change how a data file is written, or that are kept here.
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
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}
# Delta's own default: the first columns of a table, in their order, have statistics.
INDEXED_COLUMNS = 32
INDEXED = "delta.dataSkippingNumIndexedCols"
INDEXED_BY_NAME = "delta.dataSkippingStatsColumns"
UNSUPPORTED_PROPERTIES = ("delta.constraints.", "delta.parquet.", INDEXED_BY_NAME)
COLUMN_MAPPING = "delta.columnMapping.mode"
CHANGE_FEED = "delta.enableChangeDataFeed"
ROW_TRACKING = "delta.enableRowTracking"


@dataclass(frozen=True)
class WritableTable:
    """What a writer of data files has to know. All names are those that columns have in the files."""

    schema: pa.Schema
    partition_by: tuple[str, ...]
    # The paths of the columns with statistics in the log. A field of a struct has its own path.
    indexed: tuple[tuple[str, ...], ...]
    # The names in the files, by the table's own names.
    names: Mapping[str, str]
    # Columns whose type was widened: older files have a narrower one.
    widened: frozenset[str]
    has_change_feed: bool

    @property
    def in_files(self) -> pa.Schema:
        """The schema of the files, without partition columns: their values are in the log."""
        return pa.schema([field for field in self.schema if field.name not in self.partition_by])


def writable_table(metadata: Mapping[str, Any], protocol: Mapping[str, Any]) -> WritableTable:
    """Read the `metaData` and `protocol` entries of a log; raise UnsupportedTable where only Delta may write."""
    properties, fields = metadata["configuration"], json.loads(metadata["schemaString"])["fields"]
    refuse_features(properties, protocol)
    schema, names = arrow_schema(fields), {field["name"]: physical_name(field) for field in fields}
    partition_by = tuple(names[name] for name in metadata["partitionColumns"])
    for name in partition_by:
        if schema.field(name).type not in PARTITION_TYPES:
            raise UnsupportedTable(f"partitions by {schema.field(name).type}")
    paths = [path for field in fields if names[field["name"]] not in partition_by for path in leaf_paths(field)]
    indexed = int(properties.get(INDEXED, INDEXED_COLUMNS))
    return WritableTable(
        schema,
        partition_by,
        indexed=tuple(paths if indexed < 0 else paths[:indexed]),
        names=names,
        widened=frozenset(names[each["name"]] for each in fields if TYPE_CHANGES in (each.get("metadata") or {})),
        has_change_feed=is_on(properties, CHANGE_FEED),
    )


def refuse_features(properties: Mapping[str, str], protocol: Mapping[str, Any]) -> None:
    features = set(protocol.get("writerFeatures", ()))
    if not features <= SUPPORTED_WRITER_FEATURES:
        raise UnsupportedTable(f"a table with {', '.join(sorted(features - SUPPORTED_WRITER_FEATURES))}")
    if properties.get(COLUMN_MAPPING, "none") not in ("none", "name"):
        raise UnsupportedTable(f"columns are mapped by {properties[COLUMN_MAPPING]}")
    if is_on(properties, ROW_TRACKING):
        raise UnsupportedTable("row tracking is on")
    for name in properties:
        if name.startswith(UNSUPPORTED_PROPERTIES):
            raise UnsupportedTable(f"property {name}")


def is_on(properties: Mapping[str, str], name: str) -> bool:
    """True where a property is true. Delta ignores the case in which it was written."""
    return str(properties.get(name, "")).lower() == "true"
