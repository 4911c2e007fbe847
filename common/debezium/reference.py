"""The reference for every conversion, in plain Python: what the engine's SQL must give for the same value.

A date is a `datetime.date`; a timestamp an aware `datetime` in UTC, a timestamp_ntz a naive one.
"""

import base64
import binascii
import re
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

from common.debezium import temporal
from common.debezium.conversions import MOST_DIGITS, Carrier, Conversion, How, digits_of
from common.debezium.special_values import NoForm, SpecialValues, unfit

NO_NUMBERS = {"NaN", "Infinity", "-Infinity", "NAN", "POSITIVE_INFINITY", "NEGATIVE_INFINITY"}
# What Debezium writes for each row of an array of two dimensions: its values are lost.
JAVA_OBJECT = re.compile(r"\[L[\w.$]+;@[0-9a-f]+")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")


def convert(
    conversion: Conversion, value: Any, carrier: Carrier, special: SpecialValues = SpecialValues.QUARANTINE
) -> Any:
    """Convert one value. Null stays null; what has no form in Delta follows `special`, what is broken is rejected."""
    if value is None:
        return None
    if conversion.how in NESTED:
        return NESTED[conversion.how](conversion, value, carrier, special)
    try:
        if conversion.how in TEMPORAL:
            return TEMPORAL[conversion.how](conversion, value)
        return FLAT[conversion.how](conversion, value, carrier)
    except NoForm as error:
        return error.resolved(conversion, special)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise unfit(conversion, value) from error


def convert_header(conversion: Conversion, value: Any) -> Any:
    """Convert a value of a key in a header: as in JSON, but for decimals, which Connect writes as numbers there."""
    if conversion.how is not How.DECIMAL or isinstance(value, (str, bool)) or value is None:
        return convert(conversion, value, Carrier.JSON)
    try:
        return fitted(conversion, Decimal(value))
    except ValueError as error:
        raise unfit(conversion, value) from error


def plain(conversion: Conversion, value: Any, _: Carrier) -> Any:
    expected = {"string": str, "boolean": bool}.get(conversion.delta, int)
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise TypeError(value)
    if expected is int:
        bits = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}[conversion.delta]
        if not -(2**bits) <= value < 2**bits:
            raise ValueError(value)
    return value


def floating(_: Conversion, value: Any, __: Carrier) -> float:
    if isinstance(value, str) and value not in NO_NUMBERS:
        raise ValueError(value)
    if isinstance(value, bool):
        raise TypeError(value)
    return float(value)


def binary(_: Conversion, value: Any, carrier: Carrier) -> bytes:
    return as_bytes(value, carrier)


def as_bytes(value: Any, carrier: Carrier) -> bytes:
    """Decode bytes: JSON has them in base64."""
    if carrier is Carrier.AVRO:
        if not isinstance(value, bytes):
            raise TypeError(value)
        return value
    if not isinstance(value, str):
        raise TypeError(value)
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(value) from error


def unscaled(value: bytes, scale: int) -> Decimal:
    """Read a number of at most 38 digits, zeros at its end included: longer ones have no form in SQL either."""
    number = int.from_bytes(value, "big", signed=True)
    if abs(number) >= 10**MOST_DIGITS:
        raise ValueError(number)
    digits = tuple(map(int, str(abs(number))))
    return Decimal((int(number < 0), digits, -scale))


def decimal(conversion: Conversion, value: Any, carrier: Carrier) -> Decimal | str:
    return fitted(conversion, unscaled(as_bytes(value, carrier), conversion.scale or 0))


def scaled_decimal(conversion: Conversion, value: Any, carrier: Carrier) -> Decimal | str:
    if not isinstance(value, dict):
        raise TypeError(value)
    return fitted(conversion, unscaled(as_bytes(value["value"], carrier), int(value["scale"])))


def decimal_text(conversion: Conversion, value: Any, _: Carrier) -> Decimal | str:
    if not isinstance(value, str):
        raise TypeError(value)
    if value in NO_NUMBERS:
        raise NoForm(value, greatest(conversion, value))
    if NUMBER.fullmatch(value) is None:
        raise ValueError(value)
    return fitted(conversion, Decimal(value))


def greatest(conversion: Conversion, word: str) -> Decimal | None:
    """Return the number of a decimal type that is nearest to an infinity; NaN has none."""
    if word.upper() == "NAN" or conversion.delta == "string":
        return None
    precision, scale = digits_of(conversion.delta)
    return Decimal((int(word.upper().startswith(("-", "NEG"))), (9,) * precision, -scale))


def fitted(conversion: Conversion, number: Decimal) -> Decimal | str:
    """Bring a number to the scale of its type, exactly or not at all: a number too long is never null by a policy."""
    if conversion.delta == "string":
        return f"{number:f}"
    precision, scale = digits_of(conversion.delta)
    with localcontext(prec=1000, Emax=2000, Emin=-2000):
        exact = number.quantize(Decimal((0, (1,), -scale)))
        if exact != number or len(exact.as_tuple().digits) > precision:
            raise ValueError(number)
    return exact


def unsigned(_: Conversion, value: Any, __: Carrier) -> Decimal:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise TypeError(value)
    return Decimal(value % 2**64)


def array(conversion: Conversion, value: Any, carrier: Carrier, special: SpecialValues) -> list[Any]:
    if not isinstance(value, list):
        raise unfit(conversion, value)
    ((_, element),) = conversion.parts
    if any(isinstance(each, str) and JAVA_OBJECT.fullmatch(each) for each in value):
        raise unfit(conversion, value)
    return [convert(element, each, carrier, special) for each in value]


def mapping(conversion: Conversion, value: Any, carrier: Carrier, special: SpecialValues) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise unfit(conversion, value)
    return entries(conversion, [list(pair) for pair in value.items()], carrier, special)


def entries(conversion: Conversion, value: Any, carrier: Carrier, special: SpecialValues) -> dict[Any, Any]:
    if not isinstance(value, list):
        raise unfit(conversion, value)
    (_, key), (_, inner) = conversion.parts
    pairs = [(pair["key"], pair["value"]) if isinstance(pair, dict) else pair for pair in value]
    return {convert(key, name, carrier, special): convert(inner, each, carrier, special) for name, each in pairs}


def struct(conversion: Conversion, value: Any, carrier: Carrier, special: SpecialValues) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise unfit(conversion, value)
    return {name: convert(part, value.get(name), carrier, special) for name, part in conversion.parts}


FLAT: dict[How, Callable[[Conversion, Any, Carrier], Any]] = {
    How.PLAIN: plain,
    How.FLOAT: floating,
    How.BINARY: binary,
    How.DECIMAL: decimal,
    How.SCALED_DECIMAL: scaled_decimal,
    How.DECIMAL_TEXT: decimal_text,
    How.UNSIGNED: unsigned,
}
TEMPORAL: dict[How, Callable[[Conversion, Any], Any]] = {
    How.DAYS: temporal.days,
    How.EPOCH: temporal.epoch,
    How.DATE_TEXT: temporal.date_text,
    How.TIMESTAMP_TEXT: temporal.timestamp_text,
    How.TIME: temporal.time,
    How.TIME_TEXT: temporal.time_text,
}
NESTED: dict[How, Callable[[Conversion, Any, Carrier, SpecialValues], Any]] = {
    How.ARRAY: array,
    How.MAP: mapping,
    How.ENTRIES: entries,
    How.STRUCT: struct,
}
