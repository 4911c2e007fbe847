"""A hash of a table's rows that any reader of the same rows can compute: docs/connectors.md has the definition.

The source says the kind of each column. A reader of a Delta table passes the values as it finds them: a number may be
a text there, a JSON value its text, a UUID a text.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

BITS = 256
KINDS = {
    "number": r"smallint|integer|bigint|numeric(\(.*\))?|money",
    "double": r"double precision",
    "boolean": r"boolean",
    "bytes": r"bytea",
    "date": r"date",
    "timestamp": r"timestamp(\(\d\))? without time zone",
    "timestamptz": r"timestamp(\(\d\))? with time zone",
    "time": r"time(\(\d\))? without time zone",
    "json": r"jsonb?",
}
ARRAY = "[]"


def kind_of(column_type: str) -> str:
    """Return the kind of a column by PostgreSQL's name of its type. Whatever is not listed is a text."""
    if column_type.endswith(ARRAY):
        return kind_of(column_type.removesuffix(ARRAY)) + ARRAY
    return next((kind for kind, names in KINDS.items() if re.fullmatch(names, column_type)), "text")


def canonical(value: Any, kind: str) -> str | None:
    """Write a value in the one way that every reader agrees on."""
    if value is None:
        return None
    if kind.endswith(ARRAY):
        return compact([canonical(each, kind.removesuffix(ARRAY)) for each in value])
    return WRITERS[kind](value)


def number(value: int | Decimal | str) -> str:
    """Write a number without an exponent, without zeros at its end, and without a sign at zero."""
    exact = Decimal(value)
    if not exact.is_finite():
        return "NaN" if exact.is_nan() else f"{'-' if exact < 0 else ''}Infinity"
    text = f"{exact:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"", "-0"} else text


def timestamp(value: datetime | str) -> str:
    return as_datetime(value).replace(tzinfo=None).isoformat(timespec="microseconds")


def timestamptz(value: datetime | str) -> str:
    """Write a moment in UTC. A reader that gives it without a zone means UTC."""
    found = as_datetime(value)
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return f"{found.replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def as_datetime(value: datetime | str) -> datetime:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def json_text(value: str) -> str:
    """Write JSON with sorted keys, without spaces, and each number as `number` does."""
    return canonical_json(json.loads(value, parse_float=Decimal))


def canonical_json(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{compact(key)}:{canonical_json(each)}" for key, each in sorted(value.items()))
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(canonical_json, value))}]"
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return number(value)
    return compact(value)


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def text_of(value: date | time | str) -> str:
    return value if isinstance(value, str) else value.isoformat()


WRITERS: dict[str, Callable[[Any], str]] = {
    "number": number,
    "double": lambda value: repr(float(value)),
    "boolean": lambda value: "true" if value else "false",
    "bytes": lambda value: bytes(value).hex(),
    "date": text_of,
    "timestamp": timestamp,
    "timestamptz": timestamptz,
    "time": lambda value: value if isinstance(value, str) else value.isoformat(timespec="microseconds"),
    "json": json_text,
    "text": str,
}


class TableHash:
    """The hash of rows in any order: the sum of the rows' digests, so that a row that stands twice counts twice."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self.kinds = dict(sorted(kinds.items()))
        self.rows = 0
        self._sum = 0

    def add(self, row: Mapping[str, Any]) -> None:
        pairs = [[name, canonical(row[name], kind)] for name, kind in self.kinds.items()]
        self._sum += int.from_bytes(hashlib.sha256(compact(pairs).encode()).digest())
        self.rows += 1

    def hexdigest(self) -> str:
        return f"{self._sum % 2**BITS:064x}"
