"""Avro's types, and the columns that they may become."""

import re
from typing import Any

from common.settings.kinds import Array, Kind, Map, Plain, Struct, precision_and_scale

# The logical types that change the meaning of a number or of bytes. A uuid is a text like any other.
MEANT = {"date", "decimal", "duration"}
MEANT_BY_PREFIX = ("time-", "timestamp-", "local-timestamp-")
TAKES = {
    "string": {"string", "enum"},
    "boolean": {"boolean"},
    "int": {"int"},
    "bigint": {"int", "long"},
    "float": {"float"},
    "double": {"int", "float", "double"},
    "date": {"date"},
    "timestamp": {"timestamp-millis", "timestamp-micros"},
}
CONTAINERS = {Array: "array", Map: "map", Struct: "record"}


def branches(schema: Any) -> list[Any]:
    """Return the types that a value may have, besides null."""
    if schema.getType().getName() != "union":
        return [schema]
    return [each for each in schema.getTypes() if each.getType().getName() != "null"]


def meaning(schema: Any) -> str | None:
    """Return the logical type where it changes the meaning of a value, else None."""
    logical = schema.getLogicalType()
    name = None if logical is None else str(logical.getName())
    if name is None or not (name in MEANT or name.startswith(MEANT_BY_PREFIX)):
        return None
    return f"decimal of scale {logical.getScale()}" if name == "decimal" else name


def type_text(schema: Any) -> str:
    """Write a type as `string`, `timestamp-millis`, `decimal(5,2)`, `union of int, string` or `array of long`."""
    name = schema.getType().getName()
    if name == "union":
        names = [type_text(each) for each in branches(schema)]
        return names[0] if len(names) == 1 else f"union of {', '.join(names)}"
    if name in {"array", "map"}:
        return f"{name} of {type_text(parts(schema)[0])}"
    if name == "record":
        return f"record of {', '.join(each.name() for each in schema.getFields())}"
    if meaning(schema) is None:
        return str(name)
    logical = schema.getLogicalType()
    if logical.getName() == "decimal":
        return f"decimal({logical.getPrecision()},{logical.getScale()})"
    return str(logical.getName())


def takes(kind: Kind, schema: Any) -> bool:
    """True where a column of this kind holds every value of the type, exactly."""
    if len(branches(schema)) != 1:
        return False
    (branch,) = branches(schema)
    if isinstance(kind, Plain):
        return takes_plain(kind.name, branch)
    if branch.getType().getName() != CONTAINERS[type(kind)]:
        return False
    if isinstance(kind, Array):
        return takes(kind.element, branch.getElementType())
    if isinstance(kind, Map):
        return takes(kind.value, branch.getValueType())
    fields = {name: branch.getField(name) for name, _ in kind.fields}
    return all(fields[name] is not None and takes(inner, fields[name].schema()) for name, inner in kind.fields)


def takes_plain(kind: str, schema: Any) -> bool:
    if not kind.startswith("decimal"):
        return type_text(schema) in TAKES[kind]
    match = re.fullmatch(r"decimal\((\d+),(\d+)\)", type_text(schema))
    if match is None:
        return False
    (precision, scale), (digits, decimals) = precision_and_scale(kind), (int(match[1]), int(match[2]))
    return decimals <= scale and digits - decimals <= precision - scale


def is_recursive(schema: Any, above: frozenset[str] = frozenset()) -> bool:
    """True where a record contains itself, at any level."""
    if schema.getType().getName() != "record":
        return any(is_recursive(each, above) for each in parts(schema))
    name = str(schema.getFullName())
    return name in above or any(is_recursive(each.schema(), above | {name}) for each in schema.getFields())


def parts(schema: Any) -> list[Any]:
    """Return the types inside of an array, a map or a union."""
    kind = schema.getType().getName()
    if kind == "union":
        return list(schema.getTypes())
    if kind == "array":
        return [schema.getElementType()]
    return [schema.getValueType()] if kind == "map" else []
