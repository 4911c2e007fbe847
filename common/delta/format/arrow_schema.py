"""Read the schema in a table's log as an Arrow schema, with the names that columns have in the files."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from common.delta.format.errors import UnsupportedTable
from common.rules.compare import arrow_type

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
