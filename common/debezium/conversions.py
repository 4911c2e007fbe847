"""How a value of a message becomes a value of Delta: a closed set of conversions, as data.

The Python functions of `oracle` say what each means; the engine renders the same descriptions as SQL.
"""

from dataclasses import dataclass
from enum import StrEnum

MOST_DIGITS = 38


class How(StrEnum):
    """Every conversion there is."""

    PLAIN = "plain"
    FLOAT = "float"
    BINARY = "binary"
    DECIMAL = "decimal"
    SCALED_DECIMAL = "scaled decimal"
    DECIMAL_TEXT = "decimal text"
    UNSIGNED = "unsigned"
    DAYS = "days"
    EPOCH = "epoch"
    DATE_TEXT = "date text"
    TIMESTAMP_TEXT = "timestamp text"
    TIME = "time"
    TIME_TEXT = "time text"
    ARRAY = "array"
    MAP = "map"
    ENTRIES = "entries"
    STRUCT = "struct"


# What each conversion does with a value of JSON and with one of Avro. docs/cdc-types.md shows both.
MEANINGS = {
    How.PLAIN: ("the value as it is", "the value as it is"),
    How.FLOAT: ('a number, or one of the texts "NaN", "Infinity", "-Infinity"', "the number"),
    How.BINARY: ("text in base64", "the bytes"),
    How.DECIMAL: (
        "text in base64: a whole number, big-endian in two's complement, divided by 10 to the power of the scale",
        "the same bytes, not in base64",
    ),
    How.SCALED_DECIMAL: (
        "an object with `scale` and, in base64, `value`",
        "a record with `scale` and the bytes `value`",
    ),
    How.DECIMAL_TEXT: ("a number as text", "a number as text"),
    How.UNSIGNED: ("a number below zero means itself plus 2 to the power of 64", "the same"),
    How.DAYS: ("days since 1970-01-01", "the same"),
    How.EPOCH: ("a number of units since 1970-01-01T00:00:00", "the same"),
    How.DATE_TEXT: ("`2026-02-28Z`", "the same"),
    How.TIMESTAMP_TEXT: ("`2026-03-28T23:30:00.123456Z`, with any offset", "the same"),
    How.TIME: ("a number of units since midnight", "the same"),
    How.TIME_TEXT: ("`23:59:59.999999Z`", "the same"),
    How.ARRAY: ("each element by its own conversion", "the same"),
    How.MAP: ("each value of an object by its own conversion", "the same, of a map"),
    How.ENTRIES: ("a list of pairs `[key, value]`", "an array of records with `key` and `value`"),
    How.STRUCT: ("each field by its own conversion", "the same, of a record"),
}


class Carrier(StrEnum):
    """The format that carries a message's value."""

    JSON = "json"
    AVRO = "avro"


class Unit(StrEnum):
    """The unit of a number that is a time."""

    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"


@dataclass(frozen=True)
class Conversion:
    """One conversion with its parameters, and the Delta type of its result."""

    how: How
    # Spark's name of the type: `decimal(20,4)`, `array<string>`.
    delta: str
    # Of DECIMAL: the scale of the schema, which may be below zero and differ from that of the Delta type.
    scale: int | None = None
    # Of EPOCH and TIME.
    unit: Unit | None = None
    # Of ARRAY: the element. Of MAP and ENTRIES: key and value. Of STRUCT: its fields.
    parts: tuple[tuple[str, "Conversion"], ...] = ()


def plain(delta: str) -> Conversion:
    return Conversion(How.PLAIN, delta)


def array(element: Conversion) -> Conversion:
    return Conversion(How.ARRAY, f"array<{element.delta}>", parts=(("items", element),))


def mapping(key: Conversion, value: Conversion) -> Conversion:
    """Build the conversion of a map. Connect writes it as a list of entries where its keys are no texts."""
    how = How.MAP if key.delta == "string" else How.ENTRIES
    return Conversion(how, f"map<{key.delta},{value.delta}>", parts=(("keys", key), ("values", value)))


def struct(parts: tuple[tuple[str, Conversion], ...]) -> Conversion:
    fields = ",".join(f"{quoted(name)}:{part.delta}" for name, part in parts)
    return Conversion(How.STRUCT, f"struct<{fields}>", parts=parts)


def quoted(name: str) -> str:
    """Quote a field's name where Spark's grammar asks for it."""
    return name if name.isidentifier() and name.isascii() else f"`{name.replace('`', '``')}`"


def decimal(precision: int | None, scale: int) -> Conversion:
    """Build the conversion of unscaled bytes. A precision that nobody tells counts as the greatest one.

    PostgreSQL has scales below zero and above the precision; Delta has neither.
    """
    digits = MOST_DIGITS if precision is None else max(precision - min(scale, 0), scale)
    return Conversion(How.DECIMAL, f"decimal({digits},{max(scale, 0)})", scale=scale)


def digits_of(delta: str) -> tuple[int, int]:
    """Read precision and scale of `decimal(p,s)`."""
    precision, scale = delta.removeprefix("decimal(").removesuffix(")").split(",")
    return int(precision), int(scale)
