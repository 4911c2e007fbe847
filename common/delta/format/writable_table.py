"""Decide which tables the driver may read and write itself, and read their schema as an Arrow schema.

These are the tables without a feature that only Spark's Delta keeps.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from common.delta.format.errors import UnsupportedTable
from common.rules.compare import arrow_type

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
# Delta's names of types that have another name in SQL.
SQL_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
PHYSICAL_NAME = "delta.columnMapping.physicalName"
MAPPED_ID = "delta.columnMapping.id"
TYPE_CHANGES = "delta.typeChanges"
# The keys that a field's metadata may have. Every other key is a rule that Spark's Delta has to keep.
KNOWN_METADATA = {"comment", PHYSICAL_NAME, MAPPED_ID, TYPE_CHANGES}
FIELD_ID = b"PARQUET:field_id"

# One field of a schema, as the log has it.
JsonField = Mapping[str, Any]


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


def arrow_schema(fields: Sequence[JsonField]) -> pa.Schema:
    return pa.schema([arrow_field(field) for field in fields])


def arrow_field(field: JsonField) -> pa.Field:
    """Read a field. Refuse other metadata, where generated columns, defaults, invariants and char(n) are stored."""
    metadata = field.get("metadata") or {}
    if not field["nullable"] or set(metadata) - KNOWN_METADATA:
        raise UnsupportedTable(f"column {field['name']} has a rule of its own")
    ids = {FIELD_ID: str(metadata[MAPPED_ID]).encode()} if MAPPED_ID in metadata else None
    return pa.field(physical_name(field), type_of(field["type"]), metadata=ids)


def physical_name(field: JsonField) -> str:
    """Return the name of a column in the files."""
    return str((field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"]))


def type_of(kind: Any) -> pa.DataType:
    """Return Arrow's type for a type of the log: a name, or the parts of a struct, an array or a map."""
    if isinstance(kind, str):
        plain = arrow_type(SQL_NAMES.get(kind, kind))
        if plain is None:
            raise UnsupportedTable(f"a column of {kind}")
        return plain
    if kind["type"] == "struct":
        refuse_mapped(kind["fields"])
        return pa.struct([arrow_field(field) for field in kind["fields"]])
    if kind["type"] == "array" and kind["containsNull"]:
        return pa.list_(pa.field("element", type_of(kind["elementType"])))
    if kind["type"] == "map" and kind["valueContainsNull"]:
        return pa.map_(type_of(kind["keyType"]), type_of(kind["valueType"]))
    raise UnsupportedTable(f"a column of {kind['type']} without nulls")


def refuse_mapped(fields: Sequence[JsonField]) -> None:
    """Refuse mapped names inside of a struct: columns are renamed for a file, and the fields inside of them are not."""
    for field in fields:
        if physical_name(field) != field["name"]:
            raise UnsupportedTable(f"a struct whose field {field['name']} has another name in the files")


def leaf_paths(field: JsonField) -> list[tuple[str, ...]]:
    """Return the paths in the files of the plain columns inside of a field. Statistics are stored by these."""
    kind, name = field["type"], physical_name(field)
    if isinstance(kind, str) or kind["type"] != "struct":
        return [(name,)]
    return [(name, *path) for inner in kind["fields"] for path in leaf_paths(inner)]
