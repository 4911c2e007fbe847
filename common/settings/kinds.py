"""Kinds of columns, as `[source.columns]` of a pipeline file names them.

A plain kind holds one value: `string`, `boolean`, `int`, `bigint`, `float`, `double`, `date`, `timestamp` and
`decimal(p,s)`. A nested kind is made of others: `array<KIND>`, `map<string,KIND>` and `struct<name:KIND,...>`, at most
LEVELS of them one inside another. Two more take any JSON value: `variant` keeps it as Spark's VARIANT, and `json` keeps
its own text, character by character, in a string column. Both stand for a whole column, never inside a nested kind.
"""

import re
from dataclasses import dataclass
from functools import cache

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PLAIN = ("string", "boolean", "int", "bigint", "float", "double", "date", "timestamp", "decimal(p,s)")
DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
MOST_DIGITS = 38
JSON = "json"
VARIANT = "variant"
# How many arrays, maps and structs may stand one inside another.
LEVELS = 8
TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*(?:\([^()<>]*\))?|[<>,:])\s*")


# Every type of a column: JSON that it takes, and what it holds. docs/pipeline-file.md shows them.
KINDS = {
    "string": ('"A-7"', "any text; a number or a boolean is turned away"),
    "boolean": ("true", "`true` or `false`, and nothing that only looks like it"),
    "int": ("42", "a whole number of 32 bits, without point and exponent"),
    "bigint": ("42", "a whole number of 64 bits, without point and exponent"),
    "float": ("1.5", "the nearest number of 32 bits"),
    "double": ("1.5", "the nearest number of 64 bits"),
    "date": ('"2023-01-05"', "years 0001 to 9999"),
    "timestamp": ('"2023-01-05T10:00:00Z"', "to the microsecond, in UTC where no offset is given; years 0001 to 9999"),
    "decimal(p,s)": (
        "12.5",
        "exactly that number: at most `p` digits, of them `s` after the point, and `p` at most 38",
    ),
    "array<KIND>": ("[1, null]", "values of one type, each validated as a column of it would be"),
    "map<string,KIND>": ('{"a": 1}', "an object of which every member has one type"),
    "struct<name:KIND,...>": ('{"city": "Oslo"}', "the declared members of an object; others are ignored"),
    "variant": ('{"any": [1]}', "any value, as Spark's VARIANT: what it means, not how it was written"),
    "json": ('{"any": 1.50}', "any value, as its own text in a `string` column"),
}


@dataclass(frozen=True)
class Plain:
    """One value. `json` and `variant` count too, because nothing inside of them is declared."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Array:
    """Values of one kind, in their order."""

    element: "Kind"

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map:
    """Values of one kind, each under a text."""

    value: "Kind"

    def __str__(self) -> str:
        return f"map<string,{self.value}>"


@dataclass(frozen=True)
class Struct:
    """Members with names, each of its own kind."""

    fields: tuple[tuple[str, "Kind"], ...]

    def __str__(self) -> str:
        return f"struct<{','.join(f'{name}:{kind}' for name, kind in self.fields)}>"


Kind = Plain | Array | Map | Struct


@cache
def parse_kind(text: str) -> Kind:
    """Read a kind as a pipeline file writes it; a ValueError says in one line what is wrong."""
    parser = Parser(text)
    kind = parser.kind(level=0)
    parser.refuse_rest()
    return kind


def is_kind(text: str) -> bool:
    try:
        parse_kind(text)
    except ValueError:
        return False
    return True


@cache
def is_plain(text: str) -> bool:
    """True where a column of this kind holds one comparable value, and may be a key or order events."""
    kind = parse_kind(text)
    return isinstance(kind, Plain) and kind.name not in {JSON, VARIANT}


def precision_and_scale(decimal: str) -> tuple[int, int]:
    """Read `decimal(p,s)`."""
    precision, scale = re.findall(r"\d+", decimal)
    return int(precision), int(scale)


def sql_type(text: str) -> str:
    """Return Spark's type for a column of this kind."""
    return sql_type_of(parse_kind(text))


def sql_type_of(kind: Kind) -> str:
    if isinstance(kind, Array):
        return f"array<{sql_type_of(kind.element)}>"
    if isinstance(kind, Map):
        return f"map<string,{sql_type_of(kind.value)}>"
    if isinstance(kind, Struct):
        return f"struct<{','.join(f'`{name}`:{sql_type_of(each)}' for name, each in kind.fields)}>"
    return "string" if kind.name == JSON else kind.name


class Parser:
    """Reads the tokens of one kind from left to right."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0

    def kind(self, level: int) -> Kind:
        word = self._next()
        if word in {"array", "map", "struct"}:
            if level == LEVELS:
                raise ValueError(f"'{self._text}' is nested deeper than {LEVELS} levels; declare it as variant or json")
            return self._nested(word, level + 1)
        if word in {JSON, VARIANT} and level:
            raise ValueError(f"'{self._text}': {word} stands for a whole column; declare the column itself as {word}")
        if not (word in PLAIN[:-1] or word in {JSON, VARIANT} or is_decimal(word)):
            raise self._unknown()
        return Plain(word)

    def refuse_rest(self) -> None:
        if self._place < len(self._text):
            raise self._unknown()

    def _nested(self, word: str, level: int) -> Kind:
        self._expect("<")
        if word == "array":
            kind: Kind = Array(self.kind(level))
        elif word == "map":
            if self._next() != "string":
                raise ValueError(f"'{self._text}': the keys of a map are string: map<string,...>")
            self._expect(",")
            kind = Map(self.kind(level))
        else:
            kind = Struct(self._fields(level))
        self._expect(">")
        return kind

    def _fields(self, level: int) -> tuple[tuple[str, Kind], ...]:
        fields: dict[str, tuple[str, Kind]] = {}
        while True:
            name = self._next()
            if IDENTIFIER.fullmatch(name) is None:
                raise ValueError(f"'{self._text}': a member is named with letters, digits and underscores")
            # Spark ignores their case.
            if name.lower() in fields:
                raise ValueError(f"'{self._text}': member '{name}' is declared twice")
            self._expect(":")
            fields[name.lower()] = name, self.kind(level)
            if not self._skip(","):
                return tuple(fields.values())

    def _expect(self, sign: str) -> None:
        if not self._skip(sign):
            raise self._unknown()

    def _skip(self, sign: str) -> bool:
        before = self._place
        if self._next() == sign:
            return True
        self._place = before
        return False

    def _next(self) -> str:
        """Read the next word or sign; an empty text at the end."""
        match = TOKEN.match(self._text, self._place)
        if match is None:
            if self._place < len(self._text):
                raise self._unknown()
            return ""
        self._place = match.end()
        return match[1]

    def _unknown(self) -> ValueError:
        known = ", ".join([*PLAIN, "array<...>", "map<string,...>", "struct<name:...>", VARIANT, JSON])
        return ValueError(f"'{self._text}' is not a column's type; known: {known}")


def is_decimal(word: str) -> bool:
    match = DECIMAL.fullmatch(word)
    return match is not None and 1 <= int(match[1]) <= MOST_DIGITS and int(match[2]) <= int(match[1])
