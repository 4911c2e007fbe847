"""Read Kafka Connect's schemas as the JSON converter writes them beside each payload."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from common.debezium.rejection import Reason, Rejected
from common.debezium.source_schema import KINDS, SOURCE_NAME, ConnectType, SourceColumn, SourceSchema

JSON_NAMES = {"float": "float32", "double": "float64"}
ENVELOPE = ".Envelope"
# Tables of a database, and the few schemas that each of them has at a time.
CACHED_SCHEMAS = 4096


@lru_cache(CACHED_SCHEMAS)
def schema_of_texts(value_schema: str, key_schema: str | None = None) -> SourceSchema:
    """Read the schemas of a value and of its key from their texts; equal texts are read once."""
    key = None if key_schema is None else json.loads(key_schema)
    return source_schema(json.loads(value_schema), key)


def source_schema(value_schema: Mapping[str, Any], key_schema: Mapping[str, Any] | None = None) -> SourceSchema:
    """Build the schema of a table from the `schema` parts of a value and of its key."""
    return SourceSchema(row_type(connect_column(value_schema).type).fields, key_columns(key_schema))


def row_type(envelope: ConnectType) -> ConnectType:
    """Return the type of `after`: the columns of the table."""
    row = next((field.type for field in envelope.fields if field.name == "after"), None)
    if row is None or row.kind != "struct":
        raise Rejected(
            Reason.NOT_AN_ENVELOPE,
            f"schema '{envelope.name}' is no Debezium envelope: it has no field 'after' with the row's columns",
        )
    return row


def key_columns(schema: Mapping[str, Any] | None) -> tuple[str, ...] | None:
    """Return the names of a key's fields; None for a message without a key."""
    return None if schema is None else tuple(field.name for field in connect_column(schema).type.fields)


def connect_column(schema: Mapping[str, Any], name: str = "") -> SourceColumn:
    """Read one schema, with the schemas inside of it. `name` is for the parts of an array or a map."""
    field = schema.get("field", name)
    parameters = schema.get("parameters") or {}
    kind = JSON_NAMES.get(schema["type"], schema["type"])
    if kind not in KINDS:
        raise Rejected(
            Reason.NOT_AN_ENVELOPE, f"field '{field}' has the type '{kind}', which Kafka Connect does not have"
        )
    read = ConnectType(kind, schema.get("name"), tuple(sorted(parameters.items())), inner_columns(kind, schema))
    source_name = parameters.get(SOURCE_NAME, field)
    return SourceColumn(
        source_name, read, bool(schema.get("optional")), default_text(schema), field if field != source_name else None
    )


def inner_columns(kind: str, schema: Mapping[str, Any]) -> tuple[SourceColumn, ...]:
    if kind == "struct":
        return tuple(map(connect_column, schema.get("fields", ())))
    parts = {"array": ("items",), "map": ("keys", "values")}.get(kind, ())
    return tuple(connect_column(schema[part], part) for part in parts)


def default_text(schema: Mapping[str, Any]) -> str | None:
    """Return a default as JSON text; a default of null is none."""
    default = schema.get("default")
    return None if default is None else json.dumps(default, ensure_ascii=False, sort_keys=True)
