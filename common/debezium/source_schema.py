"""The schema of a source table as its events tell it, whichever format carries them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

# Debezium adds these where `column.propagate.source.type` or `datatype.propagate.source.type` asks for it.
SOURCE_TYPE = "__debezium.source.column.type"
SOURCE_LENGTH = "__debezium.source.column.length"
SOURCE_SCALE = "__debezium.source.column.scale"
SOURCE_NAME = "__debezium.source.column.name"
PRECISION = "connect.decimal.precision"
# Kafka Connect's own names of the literal types. JSON calls the two last ones float and double.
KINDS = frozenset(
    ("int8", "int16", "int32", "int64", "boolean", "string", "bytes", "array", "map", "struct", "float32", "float64")
)


@dataclass(frozen=True)
class ConnectType:
    """A type of Kafka Connect: the literal type, and the name and parameters that give it a meaning."""

    kind: str
    name: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    # Fields of a struct; `items` of an array; `keys` and `values` of a map.
    fields: tuple["SourceColumn", ...] = ()

    def parameter(self, name: str) -> str | None:
        return dict(self.parameters).get(name)

    def number(self, name: str) -> int | None:
        """Return a parameter that is a whole number; None where it is missing or something else."""
        text = self.parameter(name)
        return int(text) if text is not None and text.removeprefix("-").isdecimal() else None

    def inner(self, name: str) -> "SourceColumn":
        return next(field for field in self.fields if field.name == name)

    def __str__(self) -> str:
        """Write the type as messages show it: `int64 (io.debezium.time.MicroTimestamp)`."""
        return self.kind if self.name is None else f"{self.kind} ({self.name})"


@dataclass(frozen=True)
class SourceColumn:
    """One column of a source table."""

    # As the source spells it where the name was adjusted for Avro, and the source's name was propagated.
    name: str
    type: ConnectType
    optional: bool = True
    # The default as Connect writes it, as JSON text; None where there is none.
    default: str | None = None
    # The field of the message, where it is not the name.
    field_name: str | None = None

    @property
    def field(self) -> str:
        """The name of the column's field in a message."""
        return self.field_name or self.name

    @property
    def source_type(self) -> str | None:
        """The source's own name of the type, where the connector propagates it."""
        return self.type.parameter(SOURCE_TYPE)


@dataclass(frozen=True)
class SourceSchema:
    """Columns and key columns of a source table. `keys` is None where the messages have no key."""

    columns: tuple[SourceColumn, ...]
    keys: tuple[str, ...] | None = None

    def column(self, name: str) -> SourceColumn | None:
        return next((column for column in self.columns if column.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def with_keys(self, keys: tuple[str, ...] | None) -> "SourceSchema":
        return replace(self, keys=keys)

    def to_json(self) -> str:
        """Write the schema as JSON, so that a commit can carry it."""
        content = {"columns": [as_dict(column) for column in self.columns], "keys": self.keys}
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> "SourceSchema":
        content = json.loads(text)
        keys = content["keys"]
        return cls(tuple(map(from_dict, content["columns"])), None if keys is None else tuple(keys))


def as_dict(column: SourceColumn) -> dict[str, Any]:
    """Write a column without what has its usual value."""
    content = {
        "name": column.name,
        "kind": column.type.kind,
        "type": column.type.name,
        "parameters": dict(column.type.parameters),
        "fields": [as_dict(field) for field in column.type.fields],
        "optional": column.optional,
        "default": column.default,
        "field": column.field_name,
    }
    return {name: value for name, value in content.items() if value not in (None, {}, [])}


def from_dict(content: Mapping[str, Any]) -> SourceColumn:
    parameters = tuple(sorted(content.get("parameters", {}).items()))
    fields = tuple(map(from_dict, content.get("fields", ())))
    kind = ConnectType(content["kind"], content.get("type"), parameters, fields)
    return SourceColumn(content["name"], kind, content["optional"], content.get("default"), content.get("field"))


def array_of(element: ConnectType, *, optional: bool = True) -> ConnectType:
    return ConnectType("array", fields=(SourceColumn("items", element, optional),))


def map_of(key: ConnectType, value: ConnectType) -> ConnectType:
    return ConnectType("map", fields=(SourceColumn("keys", key, optional=False), SourceColumn("values", value)))
