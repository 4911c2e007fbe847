"""The schema that a connector would write for a table of PostgreSQL, from the types in the database's catalog.

For JSON without schemas: a number may be microseconds, milliseconds or a number, so that values tell nothing.
The types are those of `format_type(atttypid, atttypmod)`, or the same words in a pipeline file.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from common.debezium.source_schema import PRECISION, ConnectType, SourceColumn, SourceSchema, array_of, map_of
from common.debezium.type_rules import CONNECT, DEBEZIUM_DATA, DEBEZIUM_TIME
from common.errors import ConfigurationError

TYPE = re.compile(r"([a-z0-9_. \"]+?)\s*(?:\((-?\d+)(?:,\s*(-?\d+))?\))?( with(?:out)? time zone)?((?:\[\])*)")
MILLISECOND_DIGITS = 3
MICROSECOND_DIGITS = 6
RANGES = {"int4range", "int8range", "numrange", "tsrange", "tstzrange", "daterange"}
ADDRESSES = {"inet", "cidr", "macaddr", "macaddr8"}
STRINGS = {"text", "character varying", "varchar", "character", "char", "bpchar", "citext", "name", "isbn"}
TEXT_TYPES = RANGES | ADDRESSES | STRINGS
PLAIN_TYPES = {
    "boolean": "boolean",
    "smallint": "int16",
    "integer": "int32",
    "bigint": "int64",
    "oid": "int64",
    "real": "float32",
    "double precision": "float64",
}
NAMED_TEXTS = {"uuid": "Uuid", "json": "Json", "jsonb": "Json", "xml": "Xml", "ltree": "Ltree", "tsvector": "Tsvector"}


@dataclass(frozen=True)
class Modes:
    """Settings of a connector that decide about types, with Debezium's defaults."""

    decimals: str = "precise"
    times: str = "adaptive"
    intervals: str = "numeric"
    binaries: str = "bytes"
    hstores: str = "map"
    money_digits: int = 2


def postgresql_column(
    name: str, kind: str, *, optional: bool = True, modes: Modes | None = None, enums: Mapping[str, str] | None = None
) -> SourceColumn:
    """Build a column from its type in the catalog. `enums` has the labels of each enum type, joined by commas."""
    match = TYPE.fullmatch(kind.strip().lower())
    if match is None:
        raise unknown_type(name, kind)
    base, first, second, zone, dimensions = match.groups()
    numbers = tuple(int(number) for number in (first, second) if number is not None)
    connect = catalog_type(f"{base}{zone or ''}", numbers, modes or Modes(), enums or {})
    if connect is None:
        raise unknown_type(name, kind)
    return SourceColumn(name, array_of(connect) if dimensions else connect, optional)


def left_out(columns: Iterable[str], schema: SourceSchema) -> list[str]:
    """Return the columns of a source table that its events do not have.

    The connector leaves out what it has no type for, a composite for example, without `include.unknown.datatypes`.
    """
    return [name for name in columns if schema.column(name) is None]


def unknown_type(name: str, kind: str) -> ConfigurationError:
    return ConfigurationError(
        f"column '{name}' has the type '{kind}', of which the connector's form is not known",
        "let the connector send schemas (value.converter.schemas.enable=true), or exclude the column",
    )


def catalog_type(base: str, numbers: tuple[int, ...], modes: Modes, enums: Mapping[str, str]) -> ConnectType | None:
    """Return the type that the connector writes; None where it is not known here."""
    if base in enums:
        return ConnectType("string", DEBEZIUM_DATA + "Enum", (("allowed", enums[base]),))
    if base in PLAIN_TYPES:
        return ConnectType(PLAIN_TYPES[base])
    if base in TEXT_TYPES:
        return ConnectType("string")
    if base in NAMED_TEXTS:
        return ConnectType("string", DEBEZIUM_DATA + NAMED_TEXTS[base])
    build = BUILDERS.get(base)
    return None if build is None else build(numbers, modes)


def numeric(numbers: tuple[int, ...], modes: Modes) -> ConnectType:
    if modes.decimals != "precise":
        return ConnectType("string" if modes.decimals == "string" else "float64")
    if not numbers:
        parts = (
            SourceColumn("scale", ConnectType("int32"), optional=False),
            SourceColumn("value", ConnectType("bytes"), optional=False),
        )
        return ConnectType("struct", DEBEZIUM_DATA + "VariableScaleDecimal", fields=parts)
    scale = numbers[1] if len(numbers) > 1 else 0
    return ConnectType("bytes", CONNECT + "Decimal", ((PRECISION, str(numbers[0])), ("scale", str(scale))))


def money(_: tuple[int, ...], modes: Modes) -> ConnectType:
    if modes.decimals != "precise":
        return ConnectType("string" if modes.decimals == "string" else "float64")
    return ConnectType("bytes", CONNECT + "Decimal", (("scale", str(modes.money_digits)),))


def date(_: tuple[int, ...], modes: Modes) -> ConnectType:
    if modes.times == "isostring":
        return ConnectType("string", DEBEZIUM_TIME + "IsoDate")
    return ConnectType("int32", (CONNECT if modes.times == "connect" else DEBEZIUM_TIME) + "Date")


def timestamp(numbers: tuple[int, ...], modes: Modes) -> ConnectType:
    if modes.times == "isostring":
        return ConnectType("string", DEBEZIUM_TIME + "IsoTimestamp")
    if modes.times == "connect":
        return ConnectType("int64", CONNECT + "Timestamp")
    return ConnectType("int64", f"{DEBEZIUM_TIME}{unit_of(numbers, modes.times)}Timestamp")


def time(numbers: tuple[int, ...], modes: Modes) -> ConnectType:
    if modes.times == "isostring":
        return ConnectType("string", DEBEZIUM_TIME + "IsoTime")
    if modes.times == "connect":
        return ConnectType("int32", CONNECT + "Time")
    mode = "microseconds" if modes.times == "adaptive_time_microseconds" else modes.times
    unit = unit_of(numbers, mode)
    return ConnectType("int64" if unit else "int32", f"{DEBEZIUM_TIME}{unit}Time")


def unit_of(numbers: tuple[int, ...], mode: str) -> str:
    """Return the unit in a type's name: none for milliseconds, Micro or Nano."""
    if mode in {"microseconds", "nanoseconds"}:
        return "Micro" if mode == "microseconds" else "Nano"
    digits = numbers[0] if numbers else MICROSECOND_DIGITS
    return "" if digits <= MILLISECOND_DIGITS else "Micro"


def interval(_: tuple[int, ...], modes: Modes) -> ConnectType:
    is_text = modes.intervals == "string"
    return (
        ConnectType("string", DEBEZIUM_TIME + "Interval")
        if is_text
        else ConnectType("int64", DEBEZIUM_TIME + "MicroDuration")
    )


def bits(numbers: tuple[int, ...], _: Modes) -> ConnectType:
    length = numbers[0] if numbers else 1
    return (
        ConnectType("boolean")
        if length == 1
        else ConnectType("bytes", DEBEZIUM_DATA + "Bits", (("length", str(length)),))
    )


def bytea(_: tuple[int, ...], modes: Modes) -> ConnectType:
    return ConnectType("bytes" if modes.binaries == "bytes" else "string")


def hstore(_: tuple[int, ...], modes: Modes) -> ConnectType:
    text = ConnectType("string")
    return ConnectType("string", DEBEZIUM_DATA + "Json") if modes.hstores == "json" else map_of(text, text)


def zoned(name: str) -> Callable[[tuple[int, ...], Modes], ConnectType]:
    return lambda *_: ConnectType("string", DEBEZIUM_TIME + name)


def vector(name: str, kind: str) -> Callable[[tuple[int, ...], Modes], ConnectType]:
    return lambda *_: ConnectType("array", DEBEZIUM_DATA + name, fields=array_of(ConnectType(kind)).fields)


BUILDERS: dict[str, Callable[[tuple[int, ...], Modes], ConnectType]] = {
    "numeric": numeric,
    "money": money,
    "date": date,
    "timestamp": timestamp,
    "timestamp without time zone": timestamp,
    "time": time,
    "time without time zone": time,
    "timestamptz": zoned("ZonedTimestamp"),
    "timestamp with time zone": zoned("ZonedTimestamp"),
    "timetz": zoned("ZonedTime"),
    "time with time zone": zoned("ZonedTime"),
    "interval": interval,
    "bit": bits,
    "bit varying": bits,
    "bytea": bytea,
    "hstore": hstore,
    "vector": vector("DoubleVector", "float64"),
    "halfvec": vector("FloatVector", "float32"),
}
