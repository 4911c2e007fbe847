"""The conversions of single values as Spark SQL."""

from collections.abc import Callable
from dataclasses import dataclass

from common.debezium.conversions import Carrier, Conversion, How, Unit, digits_of
from common.debezium.temporal import (
    FIRST,
    FIRST_DAY,
    INFINITE_DAYS,
    INFINITE_MICROSECONDS,
    INFINITE_NANOSECONDS,
    LAST,
    LAST_DAY,
)

PLAIN_NUMBER = "^[+-]?[0-9]+([.][0-9]*)?$"
DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
CLOCK = "[0-9]{2}:[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6}0{0,3})?"
ZONE = "(Z|[+-][0-9]{2}:[0-9]{2})"
# Years outside of what Delta's readers have. ISO writes a plus only before more than four digits.
EARLY_YEAR, LATE_YEAR = "^(-[0-9]{4,}|0000)-", "^[+]?[0-9]{5,}-"
# As many digits as fit into 8 bytes.
SHORT_DIGITS = 18
TWO_TO_64 = "18446744073709551616"
FIRST_MOMENT, LAST_MOMENT = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"


@dataclass(frozen=True)
class Rendered:
    """A flat conversion of one value: its result, null where it has none; and where Delta has no form for it."""

    result: str
    # Conditions under which the value is special, with the value that is nearest to it.
    special: tuple[tuple[str, str], ...] = ()


def as_it_is(_: Conversion, value: str, __: Carrier) -> Rendered:
    return Rendered(value)


def binary(_: Conversion, value: str, carrier: Carrier) -> Rendered:
    return Rendered(octets(value, carrier))


def octets(value: str, carrier: Carrier) -> str:
    return f"try_to_binary({value}, 'base64')" if carrier is Carrier.JSON else value


def unscaled(value: str, carrier: Carrier) -> str:
    """Render up to 16 bytes in two's complement as the text of a whole number: two halves of 64 bits."""
    digits = f"hex({octets(value, carrier)})"
    sign = f"IF(substr({digits}, 1, 1) >= '8', 'F', '0')"
    padded = f"lpad({digits}, 32, {sign})"
    high, low = f"conv(substr({padded}, 1, 16), 16, -10)", f"conv(substr({padded}, 17, 16), 16, 10)"
    upper, lower = f"CAST({high} AS DECIMAL(38,0))", f"CAST({low} AS DECIMAL(38,0))"
    # Below zero, the upper half alone may be less than the least number of 38 digits.
    negative = f"({upper} + 1) * {TWO_TO_64}BD + ({lower} - {TWO_TO_64}BD)"
    number = f"IF({sign} = 'F', {negative}, {upper} * {TWO_TO_64}BD + {lower})"
    return f"IF(length({digits}) <= 32, CAST({number} AS STRING), NULL)"


def decimal(conversion: Conversion, value: str, carrier: Carrier) -> Rendered:
    scale = conversion.scale or 0
    if conversion.delta != "string" and digits_of(conversion.delta)[0] <= SHORT_DIGITS and scale >= 0:
        return Rendered(short_decimal(conversion, value, carrier, scale))
    return Rendered(scaled(conversion, unscaled(value, carrier), str(scale)))


def short_decimal(conversion: Conversion, value: str, carrier: Carrier, scale: int) -> str:
    """Render up to 8 bytes as a number: most decimals of a source are so short, and this is half the work."""
    digits = f"hex({octets(value, carrier)})"
    padded = f"lpad({digits}, 16, IF(substr({digits}, 1, 1) >= '8', 'F', '0'))"
    number = f"CAST(conv({padded}, 16, -10) AS DECIMAL(19,0)) * 1E-{scale}BD"
    exact = f"IF(length({digits}) <= 16, {number}, NULL)"
    cast = f"try_cast({exact} AS {conversion.delta})"
    return cast if digits_of(conversion.delta)[1] == scale else f"IF({cast} = {exact}, {cast}, NULL)"


def scaled_decimal(conversion: Conversion, value: str, carrier: Carrier) -> Rendered:
    return Rendered(scaled(conversion, unscaled(f"{value}.value", carrier), f"{value}.scale"))


def scaled(conversion: Conversion, number: str, scale: str) -> str:
    """Render a whole number divided by 10 to the power of the scale, exactly or null."""
    if conversion.delta == "string":
        return plain_text(number, scale)
    _, places = digits_of(conversion.delta)
    result = f"try_cast(concat({number}, 'E', -({scale})) AS {conversion.delta})"
    if scale == str(places):
        return result
    more = f"({scale}) - {places}"
    exact = f"{scale} <= {places} OR {number} = '0' OR right({number}, {more}) = repeat('0', {more})"
    return f"IF({exact}, {result}, NULL)"


def plain_text(number: str, scale: str) -> str:
    """Render the number as text: all digits, with as many after the point as its scale has."""
    digits, sign = f"trim(LEADING '-' FROM {number})", f"IF({number} LIKE '-%', '-', '')"
    padded = f"lpad({digits}, greatest(length({digits}), ({scale}) + 1), '0')"
    whole, places = f"left({padded}, length({padded}) - ({scale}))", f"right({padded}, {scale})"
    zeros = f"IF({number} = '0', '0', concat({number}, repeat('0', -({scale}))))"
    return f"IF(({scale}) > 0, concat({sign}, {whole}, '.', {places}), {zeros})"


def decimal_text(conversion: Conversion, value: str, _: Carrier) -> Rendered:
    precision, places = digits_of(conversion.delta)
    digits = f"length(trim(TRAILING '0' FROM substring_index({value}, '.', -1)))"
    exact = f"{value} RLIKE '{PLAIN_NUMBER}' AND NOT (instr({value}, '.') > 0 AND {digits} > {places})"
    greatest = f"CAST('{'9' * precision}E-{places}' AS {conversion.delta})"
    special = (
        (f"{value} IN ('NaN', 'NAN')", "NULL"),
        (f"{value} IN ('Infinity', 'POSITIVE_INFINITY')", greatest),
        (f"{value} IN ('-Infinity', 'NEGATIVE_INFINITY')", f"-{greatest}"),
    )
    return Rendered(f"IF({exact}, try_cast({value} AS {conversion.delta}), NULL)", special)


def unsigned(_: Conversion, value: str, __: Carrier) -> Rendered:
    wide = f"CAST({value} AS DECIMAL(38,0))"
    return Rendered(f"CAST(IF({value} < 0, {wide} + {TWO_TO_64}BD, {wide}) AS DECIMAL(20,0))")


def days(_: Conversion, value: str, __: Carrier) -> Rendered:
    first, last = f"DATE'{FIRST_MOMENT[:10]}'", f"DATE'{LAST_MOMENT[:10]}'"
    special = sentinels(value, INFINITE_DAYS, first, last)
    special += ((f"{value} < {FIRST_DAY}", first), (f"{value} > {LAST_DAY}", last))
    return Rendered(f"IF({value} BETWEEN {FIRST_DAY} AND {LAST_DAY}, date_from_unix_date({value}), NULL)", special)


def sentinels(value: str, infinite: dict[int, bool], first: str, last: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{value} = {number}L", last if positive else first) for number, positive in sentinel_items(infinite))


def sentinel_items(infinite: dict[int, bool]) -> list[tuple[int, bool]]:
    # The least number of a bigint has no literal of its own; it is below every range, and clamped by that.
    return [(number, positive) for number, positive in infinite.items() if number != -(2**63)]


def moments(conversion: Conversion) -> tuple[str, str]:
    name = conversion.delta.upper()
    zone = "+00:00" if name == "TIMESTAMP" else ""
    return f"{name}'{FIRST_MOMENT}{zone}'", f"{name}'{LAST_MOMENT}{zone}'"


def epoch(conversion: Conversion, value: str, _: Carrier) -> Rendered:
    first, last = moments(conversion)
    low, high = bounds(conversion.unit)
    nanoseconds = conversion.unit is Unit.NANOSECONDS
    special = sentinels(value, INFINITE_NANOSECONDS if nanoseconds else INFINITE_MICROSECONDS, first, last)
    if not nanoseconds:
        special += ((f"{value} < {low}L", first), (f"{value} > {high}L", last))
    else:
        special += ((f"{value} < -9223372036854775807L", first),)
    moment = f"CAST(timestamp_micros({microseconds(conversion.unit, value)}) AS {conversion.delta})"
    within = (
        f"{value} > -9223372036854775808 AND {value} < {2**63 - 1}L"
        if nanoseconds
        else f"{value} BETWEEN {low}L AND {high}L"
    )
    return Rendered(f"IF({within}, {moment}, NULL)", special)


def bounds(unit: Unit | None) -> tuple[int, int]:
    return (FIRST // 1000, LAST // 1000) if unit is Unit.MILLISECONDS else (FIRST, LAST)


def microseconds(unit: Unit | None, value: str) -> str:
    """Render a number of units as microseconds; null where it has digits finer than that."""
    if unit is Unit.MILLISECONDS:
        return f"{value} * 1000"
    return value if unit is Unit.MICROSECONDS else f"IF({value} % 1000 = 0, {value} DIV 1000, NULL)"


def date_text(_: Conversion, value: str, __: Carrier) -> Rendered:
    first, last = f"DATE'{FIRST_MOMENT[:10]}'", f"DATE'{LAST_MOMENT[:10]}'"
    result = f"IF({value} RLIKE '^{DAY}{ZONE}?$', try_cast(left({value}, 10) AS DATE), NULL)"
    return Rendered(f"IF({value} LIKE '0000-%', NULL, {result})", far_years(value, first, last))


def far_years(value: str, first: str, last: str) -> tuple[tuple[str, str], ...]:
    return (f"{value} RLIKE '{EARLY_YEAR}'", first), (f"{value} RLIKE '{LATE_YEAR}'", last)


def timestamp_text(conversion: Conversion, value: str, _: Carrier) -> Rendered:
    first, last = moments(conversion)
    if conversion.delta == "timestamp":
        pattern, clock = f"^{DAY}T{CLOCK}{ZONE}$", value
    else:
        pattern, clock = f"^{DAY}T{CLOCK}{ZONE}?$", f"regexp_replace({value}, '{ZONE}$', '')"
    cast = f"IF({value} RLIKE '{pattern}', try_cast({clock} AS {conversion.delta}), NULL)"
    result = f"IF({cast} BETWEEN {first} AND {last}, {cast}, NULL)"
    special = (
        (f"{value} = 'infinity'", last),
        (f"{value} = '-infinity'", first),
        (f"{cast} < {first}", first),
        (f"{cast} > {last}", last),
        *far_years(value, first, last),
    )
    return Rendered(result, special)


def time(conversion: Conversion, value: str, _: Carrier) -> Rendered:
    return Rendered(microseconds(conversion.unit, value))


def time_text(_: Conversion, value: str, __: Carrier) -> Rendered:
    fraction = f"rpad(left(regexp_extract({value}, '[.]([0-9]+)', 1), 6), 6, '0')"
    hours, minutes, seconds = (f"CAST(substr({value}, {place}, 2) AS BIGINT)" for place in (1, 4, 7))
    result = f"({hours} * 3600 + {minutes} * 60 + {seconds}) * 1000000 + CAST({fraction} AS BIGINT)"
    return Rendered(f"IF({value} RLIKE '^{CLOCK}Z?$', {result}, NULL)")


FLAT: dict[How, Callable[[Conversion, str, Carrier], Rendered]] = {
    How.PLAIN: as_it_is,
    How.FLOAT: as_it_is,
    How.BINARY: binary,
    How.DECIMAL: decimal,
    How.SCALED_DECIMAL: scaled_decimal,
    How.DECIMAL_TEXT: decimal_text,
    How.UNSIGNED: unsigned,
    How.DAYS: days,
    How.EPOCH: epoch,
    How.DATE_TEXT: date_text,
    How.TIMESTAMP_TEXT: timestamp_text,
    How.TIME: time,
    How.TIME_TEXT: time_text,
}
