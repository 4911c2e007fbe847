"""Read Kafka Connect's schemas as the Avro converters of Confluent and Apicurio register them.

An Avro type carries Connect's own in its properties: `connect.name` is the semantic type, `connect.type` the literal
one where Avro has none such (int8, int16), `connect.parameters` the parameters. A map with keys that are no texts is
an array of records with `key` and `value`.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from common.debezium.json_schema import CACHED_SCHEMAS, default_text, row_type
from common.debezium.rejection import Reason, Rejected
from common.debezium.source_schema import SOURCE_NAME, ConnectType, SourceColumn, SourceSchema, array_of, map_of

KINDS = {
    "boolean": "boolean",
    "int": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "bytes": "bytes",
    "fixed": "bytes",
    "string": "string",
    "enum": "string",
}
MAP_ENTRY = "MapEntry"
Types = dict[str, Any]


@lru_cache(CACHED_SCHEMAS)
def schema_of_avro(value_schema: str, key_schema: str | None = None) -> SourceSchema:
    """Build the schema of a table from the registered texts of a value and of its key."""
    keys = None
    if key_schema is not None:
        keys = tuple(field.name for field in avro_column(json.loads(key_schema), "", {}).type.fields)
    return SourceSchema(row_type(avro_column(json.loads(value_schema), "", {}).type).fields, keys)


def avro_column(schema: Any, name: str, known: Types, default: Any = None) -> SourceColumn:
    """Read the type of a field. `known` has the named types that were met before, by their full names."""
    branches = schema if isinstance(schema, list) else [schema]
    others = [branch for branch in branches if branch != "null"]
    if len(others) != 1:
        raise Rejected(
            Reason.NOT_AN_ENVELOPE, f"field '{name}' is a union of {len(others)} types, which Connect never writes"
        )
    read = connect_type(others[0], known)
    source_name = read.parameter(SOURCE_NAME) or name
    return SourceColumn(
        source_name,
        read,
        "null" in branches,
        default_text({"default": connect_default(others[0], default)}),
        name if name != source_name else None,
    )


def connect_type(schema: Any, known: Types, namespace: str | None = None) -> ConnectType:
    if isinstance(schema, str):
        return named_type(schema, known)
    kind = schema["type"]
    if isinstance(kind, (dict, list)):
        return connect_type(kind, known)
    if "name" in schema:
        known[full_name(schema, namespace)] = known[schema["name"]] = schema
    name, parameters = schema.get("connect.name"), tuple(sorted((schema.get("connect.parameters") or {}).items()))
    if kind == "record":
        fields = tuple(
            avro_column(field["type"], field["name"], known, field.get("default")) for field in schema["fields"]
        )
        return ConnectType("struct", name or full_name(schema, namespace), parameters, fields)
    if kind == "array":
        return array_type(schema, known, name, parameters)
    if kind == "map":
        values = avro_column(schema["values"], "values", known)
        keys = SourceColumn("keys", ConnectType("string"), optional=False)
        return ConnectType("map", name, parameters, (keys, values))
    return ConnectType(schema.get("connect.type", named_type(kind, known).kind), name, parameters)


def named_type(name: str, known: Types) -> ConnectType:
    """Return a plain type, or a type that was defined before: Avro defines a record once and then names it."""
    if name in KINDS:
        return ConnectType(KINDS[name])
    if name not in known:
        raise Rejected(Reason.NOT_AN_ENVELOPE, f"the Avro schema names the type '{name}' and does not define it")
    return connect_type(known[name], known)


def array_type(
    schema: Mapping[str, Any], known: Types, name: str | None, parameters: tuple[tuple[str, str], ...]
) -> ConnectType:
    """Read an array, or a map that is written as an array of its entries."""
    items = avro_column(schema["items"], "items", known)
    if is_entry(schema["items"], known):
        key, value = items.type.fields
        return ConnectType("map", name, parameters, map_of(key.type, value.type).fields)
    return ConnectType("array", name, parameters, array_of(items.type, optional=items.optional).fields)


def is_entry(items: Any, known: Types) -> bool:
    """True for the record by which a converter writes an entry of a map with keys that are no texts."""
    record = known.get(items, items) if isinstance(items, str) else items
    return isinstance(record, dict) and (record.get("connect.internal.type") or record.get("name")) == MAP_ENTRY


def full_name(schema: Mapping[str, Any], namespace: str | None) -> str:
    space = schema.get("namespace", namespace)
    return f"{space}.{schema['name']}" if space and "." not in schema["name"] else str(schema["name"])


def connect_default(schema: Any, default: Any) -> Any:
    """Prefer Connect's own default: Avro's is null where the column may be null."""
    return schema.get("connect.default", default) if isinstance(schema, dict) else default
