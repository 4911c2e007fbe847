"""The table of types: what each schema name of Debezium, and each literal type of Connect, becomes in Delta.

docs/cdc-types.md is made from it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from common.debezium.conversions import Conversion, How, Unit, array, decimal, mapping, plain, struct
from common.debezium.source_schema import PRECISION, ConnectType

DEBEZIUM_TIME, DEBEZIUM_DATA, CONNECT = "io.debezium.time.", "io.debezium.data.", "org.apache.kafka.connect.data."
# The scale leaves 20 digits before the point: as many as the greatest whole number of a source needs.
VARIABLE_DECIMAL = "decimal(38,18)"


@dataclass(frozen=True)
class TypeRule:
    """One row of the table: what a schema name, or a literal type without a name, becomes."""

    name: str
    kind: str
    # Types of sources that arrive so.
    sources: str
    becomes: str
    convert: Callable[[ConnectType], Conversion]
    # What the message has lost already, or what Delta has no form for; empty where there is nothing.
    loses: str = ""
    # What a pipeline file may declare for such a column instead.
    alternatives: tuple[str, ...] = ()


def rule_of(connect: ConnectType) -> TypeRule:
    """Return the row of a type. A name that the table does not have counts as none: its literal type is kept."""
    rule = RULES.get(connect.name or "")
    return rule if rule is not None and rule.kind == connect.kind else LITERALS[connect.kind]


def conversion_of(connect: ConnectType) -> Conversion:
    return rule_of(connect).convert(connect)


def fixed(conversion: Conversion) -> Callable[[ConnectType], Conversion]:
    return lambda _: conversion


def epoch(delta: str, unit: Unit) -> Callable[[ConnectType], Conversion]:
    return fixed(Conversion(How.EPOCH, delta, unit=unit))


def time(unit: Unit) -> Callable[[ConnectType], Conversion]:
    return fixed(Conversion(How.TIME, "bigint", unit=unit))


def decimal_of(connect: ConnectType) -> Conversion:
    return decimal(connect.number(PRECISION), connect.number("scale") or 0)


def literal(connect: ConnectType) -> Conversion:
    """Convert by the literal type, with the types inside of it by the table."""
    if connect.kind == "array":
        return array(conversion_of(connect.inner("items").type))
    if connect.kind == "map":
        return mapping(conversion_of(connect.inner("keys").type), conversion_of(connect.inner("values").type))
    if connect.kind == "struct":
        return struct(tuple((inner.field, conversion_of(inner.type)) for inner in connect.fields))
    return LITERALS[connect.kind].convert(connect)


TEXT = fixed(plain("string"))
OUTSIDE_YEARS = "infinity, and years outside of 0001 to 9999"
FINER = "digits finer than a microsecond"

LITERALS = {
    rule.kind: rule
    for rule in (
        TypeRule("", "boolean", "boolean, bit(1), tinyint(1) with a converter", "boolean", fixed(plain("boolean"))),
        TypeRule("", "int8", "tinyint of other sources", "tinyint", fixed(plain("tinyint"))),
        TypeRule("", "int16", "smallint; boolean of MySQL and MariaDB", "smallint", fixed(plain("smallint"))),
        TypeRule("", "int32", "integer, serial", "int", fixed(plain("int"))),
        TypeRule(
            "",
            "int64",
            "bigint, oid; bigint unsigned with its source type propagated is `decimal(20,0)`",
            "bigint",
            fixed(plain("bigint")),
            "bigint unsigned above 9223372036854775807 arrives below zero: `bigint.unsigned.handling.mode=precise`, "
            "or `datatype.propagate.source.type`",
        ),
        TypeRule("", "float32", "real, float(24)", "float", fixed(Conversion(How.FLOAT, "float"))),
        TypeRule(
            "",
            "float64",
            "double precision; numeric and money by `double`",
            "double",
            fixed(Conversion(How.FLOAT, "double")),
            "numeric by `decimal.handling.mode=double` was rounded by the connector",
        ),
        TypeRule(
            "",
            "string",
            "text, varchar, char, citext, inet, cidr, macaddr, ranges, isbn; numeric and money by `string`; bytea by "
            "`base64` or `hex`",
            "string",
            TEXT,
            alternatives=("decimal(p,s)",),
        ),
        TypeRule(
            "",
            "bytes",
            "bytea, blob, binary; unknown types by `include.unknown.datatypes`",
            "binary",
            fixed(Conversion(How.BINARY, "binary")),
        ),
        TypeRule(
            "",
            "array",
            "arrays of any type of this table",
            "array<…>",
            literal,
            "arrays of two dimensions: Debezium writes Java object names",
        ),
        TypeRule("", "map", "hstore", "map<…,…>", literal),
        TypeRule("", "struct", "any struct with an unknown name", "struct<…>", literal),
    )
}

RULES = {
    rule.name: rule
    for rule in (
        TypeRule(
            CONNECT + "Decimal",
            "bytes",
            "numeric(p,s), decimal(p,s), money; bigint unsigned by `precise`",
            "decimal(p,s); decimal(38,s) without a precision",
            decimal_of,
            "NaN and infinity of numeric arrive as null: `decimal.handling.mode=string`",
            ("decimal(p,s)", "string"),
        ),
        TypeRule(
            DEBEZIUM_DATA + "VariableScaleDecimal",
            "struct",
            "numeric without a scale",
            VARIABLE_DECIMAL,
            fixed(Conversion(How.SCALED_DECIMAL, VARIABLE_DECIMAL)),
            "more than 18 digits after the point, or more than 20 before it; NaN and infinity arrive as null",
            ("decimal(p,s)", "string"),
        ),
        TypeRule(DEBEZIUM_TIME + "Date", "int32", "date", "date", fixed(Conversion(How.DAYS, "date")), OUTSIDE_YEARS),
        TypeRule(
            CONNECT + "Date", "int32", "date by `connect`", "date", fixed(Conversion(How.DAYS, "date")), OUTSIDE_YEARS
        ),
        TypeRule(
            DEBEZIUM_TIME + "IsoDate",
            "string",
            "date by `isostring`",
            "date",
            fixed(Conversion(How.DATE_TEXT, "date")),
            f"a year before Christ arrives without its era; {OUTSIDE_YEARS}",
        ),
        TypeRule(
            DEBEZIUM_TIME + "Timestamp",
            "int64",
            "timestamp(0) to (3), datetime",
            "timestamp_ntz",
            epoch("timestamp_ntz", Unit.MILLISECONDS),
            OUTSIDE_YEARS,
        ),
        TypeRule(
            DEBEZIUM_TIME + "MicroTimestamp",
            "int64",
            "timestamp, datetime(6)",
            "timestamp_ntz",
            epoch("timestamp_ntz", Unit.MICROSECONDS),
            OUTSIDE_YEARS,
        ),
        TypeRule(
            DEBEZIUM_TIME + "NanoTimestamp",
            "int64",
            "timestamp by `nanoseconds`, datetime2(7)",
            "timestamp_ntz",
            epoch("timestamp_ntz", Unit.NANOSECONDS),
            f"{FINER}; infinity, and years outside of 1677 to 2262",
        ),
        TypeRule(
            CONNECT + "Timestamp",
            "int64",
            "timestamp by `connect`",
            "timestamp_ntz",
            epoch("timestamp_ntz", Unit.MILLISECONDS),
            "digits finer than a millisecond: refused, unless the column has none or the file declares `timestamp_ntz`",
            ("timestamp_ntz",),
        ),
        TypeRule(
            DEBEZIUM_TIME + "IsoTimestamp",
            "string",
            "timestamp by `isostring`",
            "timestamp_ntz",
            fixed(Conversion(How.TIMESTAMP_TEXT, "timestamp_ntz")),
            f"a year before Christ arrives without its era; {OUTSIDE_YEARS}",
        ),
        TypeRule(
            DEBEZIUM_TIME + "ZonedTimestamp",
            "string",
            "timestamptz; timestamp of MySQL and MariaDB",
            "timestamp",
            fixed(Conversion(How.TIMESTAMP_TEXT, "timestamp")),
            f"{FINER}; {OUTSIDE_YEARS}",
        ),
        TypeRule(
            DEBEZIUM_TIME + "Time",
            "int32",
            "time(0) to (3)",
            "bigint, microseconds since midnight",
            time(Unit.MILLISECONDS),
        ),
        TypeRule(
            DEBEZIUM_TIME + "MicroTime",
            "int64",
            "time; of MySQL and MariaDB also below zero and above 24 hours",
            "bigint, microseconds since midnight",
            time(Unit.MICROSECONDS),
        ),
        TypeRule(
            DEBEZIUM_TIME + "NanoTime",
            "int64",
            "time by `nanoseconds`, time(7)",
            "bigint, microseconds since midnight",
            time(Unit.NANOSECONDS),
            FINER,
        ),
        TypeRule(
            CONNECT + "Time",
            "int32",
            "time by `connect`",
            "bigint, microseconds since midnight",
            time(Unit.MILLISECONDS),
            "digits finer than a millisecond: refused, unless the column has none or the file declares `bigint`",
            ("bigint",),
        ),
        TypeRule(
            DEBEZIUM_TIME + "IsoTime",
            "string",
            "time by `isostring`",
            "bigint, microseconds since midnight",
            fixed(Conversion(How.TIME_TEXT, "bigint")),
        ),
        TypeRule(
            DEBEZIUM_TIME + "ZonedTime",
            "string",
            "timetz",
            "string, in UTC",
            TEXT,
            "the offset that was written: the connector turns it into UTC",
        ),
        TypeRule(
            DEBEZIUM_TIME + "MicroDuration",
            "int64",
            "interval by `numeric`",
            "bigint, microseconds",
            fixed(plain("bigint")),
            "a month counts as 365.25 / 12 days: `interval.handling.mode=string`",
        ),
        TypeRule(
            DEBEZIUM_TIME + "NanoDuration",
            "int64",
            "interval of other sources",
            "bigint, nanoseconds",
            fixed(plain("bigint")),
        ),
        TypeRule(DEBEZIUM_TIME + "Interval", "string", "interval by `string`", "string, `P1Y2M3DT4H5M6.789S`", TEXT),
        TypeRule(DEBEZIUM_TIME + "Year", "int32", "year", "int", fixed(plain("int"))),
        *(
            TypeRule(
                f"{DEBEZIUM_TIME}Structured{name}",
                "struct",
                f"{sources} by `structured`",
                "struct<…>, its parts as they are",
                literal,
            )
            for name, sources in (
                ("Date", "date"),
                ("Timestamp", "timestamp"),
                ("ZonedTimestamp", "timestamptz"),
                ("Time", "time"),
                ("ZonedTime", "timetz"),
                ("Duration", "interval; time of MySQL and MariaDB"),
            )
        ),
        TypeRule(DEBEZIUM_DATA + "Uuid", "string", "uuid", "string", TEXT),
        TypeRule(DEBEZIUM_DATA + "Json", "string", "json, jsonb; hstore by `json`", "string, the text itself", TEXT),
        TypeRule(DEBEZIUM_DATA + "Xml", "string", "xml", "string", TEXT),
        TypeRule(
            DEBEZIUM_DATA + "Enum", "string", "enum; its labels are a parameter and no schema change", "string", TEXT
        ),
        TypeRule(DEBEZIUM_DATA + "EnumSet", "string", "set of MySQL and MariaDB", "string, `a,c`", TEXT),
        TypeRule(DEBEZIUM_DATA + "Ltree", "string", "ltree", "string", TEXT),
        TypeRule(DEBEZIUM_DATA + "Tsvector", "string", "tsvector", "string", TEXT),
        TypeRule(
            DEBEZIUM_DATA + "Bits",
            "bytes",
            "bit(n), bit varying(n)",
            "binary, little-endian",
            fixed(Conversion(How.BINARY, "binary")),
            "leading zeros of bit varying",
        ),
        TypeRule(DEBEZIUM_DATA + "DoubleVector", "array", "vector", "array<double>", literal),
        TypeRule(
            DEBEZIUM_DATA + "FloatVector", "array", "halfvec; vector of MySQL and MariaDB", "array<float>", literal
        ),
        TypeRule(
            DEBEZIUM_DATA + "SparseDoubleVector",
            "struct",
            "sparsevec",
            "struct<dimensions:smallint,vector:map<smallint,double>>",
            literal,
        ),
        TypeRule(
            DEBEZIUM_DATA + "geometry.Point",
            "struct",
            "point",
            "struct<x:double,y:double,wkb:binary,srid:int>",
            literal,
        ),
        TypeRule(
            DEBEZIUM_DATA + "geometry.Geometry",
            "struct",
            "geometry of PostGIS; box, lseg, path, polygon",
            "struct<wkb:binary,srid:int,…>",
            literal,
        ),
        TypeRule(
            DEBEZIUM_DATA + "geometry.Geography",
            "struct",
            "geography of PostGIS",
            "struct<wkb:binary,srid:int,…>",
            literal,
        ),
        TypeRule(
            DEBEZIUM_DATA + "geometry.Circle", "struct", "circle", "struct<center:struct<…>,radius:double>", literal
        ),
        TypeRule(DEBEZIUM_DATA + "geometry.Line", "struct", "line", "struct<a:double,b:double,c:double>", literal),
    )
}
