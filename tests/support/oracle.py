"""What a record value is, said again in plain Python: the reason to turn it away or None, and the typed values.

Written from docs/json.md and docs/keys.md, with nothing of common/, so that a mistake has to be made twice to pass.
"""

import json
import re
import struct
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_DEPTH = 999
MAX_DIGITS = 1_000
MAX_NAME = 50_000
TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(?:(Z)|([+-])(\d\d):(\d\d))?", re.ASCII
)
STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<opening>[\[{])|(?P<closing>[\]}])', re.DOTALL)
SURROGATE = re.compile("[\ud800-\udfff]")


class Wrong(Exception):
    """The value is turned away, for this reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Contract:
    """What a pipeline declares, as far as it decides about a record."""

    columns: Mapping[str, str]
    keys: Sequence[str]
    sequence: str
    max_bytes: int
    rules: Mapping[str, tuple[str, int, int]]
    late: str
    future: timedelta
    produced: datetime


@dataclass(frozen=True)
class Judgement:
    """None as the reason means: this is an event, and these are its values."""

    reason: str | None
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Number:
    """A JSON number as it is written."""

    text: str

    @property
    def is_integer(self) -> bool:
        return re.fullmatch(r"-?\d+", self.text) is not None

    @property
    def digits(self) -> int:
        return len(re.findall(r"\d", self.text))


def judge(value: bytes | None, contract: Contract) -> Judgement:
    try:
        values = typed(members(value, contract.max_bytes), contract.columns)
        refuse(values, contract)
    except Wrong as wrong:
        return Judgement(wrong.reason)
    return Judgement(None, {name: canonical(found, name in contract.keys) for name, found in values.items()})


def members(value: bytes | None, max_bytes: int) -> dict[str, Any]:
    """The members of the one object that the bytes are."""
    if value is None:
        raise Wrong("NULL_VALUE")
    if len(value) > max_bytes:
        raise Wrong("OVERSIZED")
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise Wrong("NOT_UTF8") from None
    found = parsed(text)
    if not isinstance(found, dict):
        raise Wrong("NOT_AN_OBJECT")
    return found


def parsed(text: str) -> Any:
    """One JSON text by RFC 8259, whose names are distinct and whose strings are characters, within the bounds."""
    if depth(text) > MAX_DEPTH:
        raise Wrong("NOT_JSON")
    try:
        with deep_recursion():
            found = json.loads(
                text, object_pairs_hook=distinct, parse_int=Number, parse_float=Number, parse_constant=no_constant
            )
    except json.JSONDecodeError:
        raise Wrong("NOT_JSON") from None
    if any(not sound(scalar) for scalar in scalars(found)):
        raise Wrong("NOT_JSON")
    return found


def raw_members(text: str) -> dict[str, str]:
    """The members of an object, each as its own text."""
    found, scan, place = {}, json.JSONDecoder().raw_decode, text.index("{") + 1
    with deep_recursion():
        while text[(place := after_space(text, place))] != "}":
            name, place = scan(text, after_space(text, place + (text[place] == ",")))
            begins = after_space(text, text.index(":", place) + 1)
            _, place = scan(text, begins)
            found[name] = text[begins:place]
    return found


def after_space(text: str, place: int) -> int:
    return place + len(text[place:]) - len(text[place:].lstrip(" \t\r\n"))


def depth(text: str) -> int:
    """The deepest nesting of brackets that stand outside of strings."""
    level = deepest = 0
    for bracket in STRING_OR_BRACKET.finditer(text):
        if bracket["opening"]:
            level += 1
            deepest = max(deepest, level)
        elif bracket["closing"]:
            level -= 1
    return deepest


@contextmanager
def deep_recursion() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20 * MAX_DEPTH)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs) or any(len(name) > MAX_NAME or not sound(name) for name in found):
        raise Wrong("NOT_JSON")
    return found


def no_constant(name: str) -> None:
    raise Wrong("NOT_JSON")


def scalars(found: Any) -> Iterator[Any]:
    waiting = [found]
    while waiting:
        each = waiting.pop()
        if isinstance(each, (dict, list)):
            waiting.extend(each.values() if isinstance(each, dict) else each)
        else:
            yield each


def sound(scalar: Any) -> bool:
    if isinstance(scalar, str):
        return SURROGATE.search(scalar) is None
    return not isinstance(scalar, Number) or scalar.digits <= MAX_DIGITS


def typed(found: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    return {name: column_value(found.get(name), kind) for name, kind in columns.items()}


def column_value(value: Any, kind: str) -> Any:
    """The value as a column of this kind holds it; times as microseconds, dates as days."""
    if value is None:
        return None
    if kind.startswith(("array<", "map<", "struct<")):
        return nested_value(value, kind)
    wanted = {"string": str, "boolean": bool, "date": str, "timestamp": str}.get(kind, Number)
    if not isinstance(value, wanted):
        raise Wrong("WRONG_TYPE")
    if kind in {"string", "boolean"}:
        return value
    result = converted(value, kind)
    if result is None:
        raise Wrong("WRONG_TYPE")
    return result


def nested_value(value: Any, kind: str) -> Any:
    """Each value inside as a column of its kind would hold it; a struct has the declared members only."""
    if not isinstance(value, list if kind.startswith("array<") else dict):
        raise Wrong("WRONG_TYPE")
    if kind.startswith("array<"):
        return [column_value(each, kind[6:-1]) for each in value]
    if kind.startswith("map<"):
        return {name: column_value(each, kind[11:-1]) for name, each in value.items()}
    return {name: column_value(value.get(name), inner) for name, inner in fields_of(kind)}


def fields_of(kind: str) -> list[tuple[str, str]]:
    """Commas inside of a kind's brackets divide nothing."""
    fields = re.sub(r"<[^<>]*(?:<[^<>]*>)*[^<>]*>|\([^()]*\)", lambda match: match[0].replace(",", ";"), kind[7:-1])
    return [(name, inner.replace(";", ",")) for name, inner in (field.split(":", 1) for field in fields.split(","))]


def converted(value: Any, kind: str) -> Any:
    match kind:
        case "int" | "bigint":
            return integer(value, kind)
        case "float" | "double":
            return floating(value, kind)
        case "date":
            return days(value)
        case "timestamp":
            return microseconds(value)
    return exact_decimal(value, kind)


def integer(number: Number, kind: str) -> int | None:
    bits = 32 if kind == "int" else 64
    if not number.is_integer or number.digits > 20:
        return None
    value = int(number.text)
    return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def floating(number: Number, kind: str) -> float | None:
    """The nearest double; for a float, the nearest to that."""
    value = float(number.text)
    if value in {float("inf"), float("-inf")}:
        return None
    try:
        return value if kind == "double" else struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None


def exact_decimal(number: Number, kind: str) -> Decimal | None:
    """Written plainly, with at most 38 digits that count, and none too many on either side of the point."""
    precision, scale = (int(digits) for digits in re.findall(r"\d+", kind))
    if re.fullmatch(r"-?\d+(\.\d+)?", number.text) is None:
        return None
    whole, _, fraction = number.text.lstrip("-").partition(".")
    if len(fraction) > 38 or len((whole + fraction).lstrip("0")) > 38:
        return None
    if len(whole.lstrip("0")) > precision - scale or len(fraction.rstrip("0")) > scale:
        return None
    return abs(Decimal(number.text)) if not Decimal(number.text) else Decimal(number.text)


def days(text: str) -> int | None:
    if re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII) is None:
        return None
    try:
        return date.fromisoformat(text).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None


def microseconds(text: str) -> int | None:
    match = TIME.fullmatch(text)
    if match is None:
        return None
    *clock, fraction, _, sign, hours, minutes = match.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    if int(minutes or 0) > 59 or offset > timedelta(hours=18):
        return None
    try:
        local = datetime(*(int(part or 0) for part in clock), int((fraction or "").ljust(6, "0")), tzinfo=UTC)  # type: ignore[misc,arg-type]
        instant = local + offset if sign == "-" else local - offset
    except (ValueError, OverflowError):
        return None
    return (instant - EPOCH) // timedelta(microseconds=1)


def refuse(values: dict[str, Any], contract: Contract) -> None:
    """What the pipeline does not let pass, in the documented order."""
    if any(values[key] is None for key in contract.keys):
        raise Wrong("NULL_KEY")
    if values[contract.sequence] is None:
        raise Wrong("NULL_SEQUENCE")
    for name, (column, least, greatest) in contract.rules.items():
        if values[column] is not None and not least <= values[column] <= greatest:
            raise Wrong(f"RULE_{name}")
    instant = None if values[contract.late] is None else microseconds(values[contract.late])
    if instant is None:
        raise Wrong("NO_TIME")
    if EPOCH + timedelta(microseconds=instant) > contract.produced + contract.future:
        raise Wrong("FUTURE")


def canonical(value: Any, is_key: bool) -> Any:  # noqa: FBT001
    if isinstance(value, float) and value == 0:
        return 0.0
    return unicodedata.normalize("NFC", value) if is_key and isinstance(value, str) else value
