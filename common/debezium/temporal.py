"""The reference for conversions of days, times and timestamps."""

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

from common.debezium.conversions import Conversion, Unit
from common.debezium.special_values import NoForm

EPOCH_DAY = date(1970, 1, 1)
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  a timestamp_ntz has no zone
FIRST_DAY, LAST_DAY = (date.min - EPOCH_DAY).days, (date.max - EPOCH_DAY).days
MICROSECONDS = 1_000_000
DAY_MICROSECONDS = 86_400 * MICROSECONDS
FIRST, LAST = FIRST_DAY * DAY_MICROSECONDS, (LAST_DAY + 1) * DAY_MICROSECONDS - 1
# Microseconds for one unit, as a fraction.
UNITS = {Unit.MILLISECONDS: (1000, 1), Unit.MICROSECONDS: (1, 1), Unit.NANOSECONDS: (1, 1000)}
# PostgreSQL's infinities as Debezium writes them. The positive day has overflowed: it lies before the negative one.
INFINITE_DAYS = {-2147472692: True, -2147472691: False}
INFINITE_MICROSECONDS = {9223372036825200000: True, -9223372036832400000: False}
INFINITE_NANOSECONDS = {2**63 - 1: True, -(2**63): False}
INFINITE_TEXTS = {"infinity": True, "-infinity": False}
DATE = r"(-?[0-9]{4,}|[+]?[0-9]{5,})-([0-9]{2})-([0-9]{2})"
CLOCK = r"([0-9]{2}):([0-5][0-9]):([0-5][0-9])(?:\.([0-9]{1,9}))?"
OFFSET = r"(Z|[+-][0-9]{2}:[0-9]{2})?"
DATE_TEXT = re.compile(DATE + OFFSET)
TIME_TEXT = re.compile(CLOCK + "Z?")
TIMESTAMP_TEXT = re.compile(f"{DATE}T{CLOCK}{OFFSET}")
HOURS = 24


def days(_: Conversion, value: Any) -> date:
    number = whole(value)
    if number in INFINITE_DAYS:
        raise NoForm(number, date.max if INFINITE_DAYS[number] else date.min)
    return day(number)


def day(number: int) -> date:
    if not FIRST_DAY <= number <= LAST_DAY:
        raise NoForm(number, date.min if number < FIRST_DAY else date.max)
    return EPOCH_DAY + timedelta(days=number)


def epoch(conversion: Conversion, value: Any) -> datetime:
    number, unit = whole(value), conversion.unit
    infinite = INFINITE_NANOSECONDS if unit is Unit.NANOSECONDS else INFINITE_MICROSECONDS
    scaled = number * 1000 if unit is Unit.MILLISECONDS else number
    if scaled in infinite:
        raise NoForm(number, moment(conversion, LAST if infinite[scaled] else FIRST))
    return moment(conversion, in_microseconds(conversion, number))


def in_microseconds(conversion: Conversion, number: int) -> int:
    """Turn a number of units into microseconds, exactly or not at all."""
    if conversion.unit is None:
        raise TypeError(conversion)
    factor, divisor = UNITS[conversion.unit]
    quotient, rest = divmod(number * factor, divisor)
    if rest:
        raise ValueError(number)
    return quotient


def moment(conversion: Conversion, microseconds: int) -> datetime:
    if not FIRST <= microseconds <= LAST:
        raise NoForm(microseconds, moment(conversion, FIRST if microseconds < FIRST else LAST))
    local = EPOCH + timedelta(microseconds=microseconds)
    return local.replace(tzinfo=UTC) if conversion.delta == "timestamp" else local


def date_text(_: Conversion, value: Any) -> date:
    match = DATE_TEXT.fullmatch(value)
    if match is None:
        raise ValueError(value)
    return day(day_number(*map(int, match.groups()[:3])))


def day_number(year: int, month: int, number: int) -> int:
    """Count days since 1970-01-01 in the Gregorian calendar, also for years that Python's dates do not have."""
    # The calendar repeats itself every 400 years, which are 146,097 days.
    cycles, within = divmod(year - 1, 400)
    return (date(within + 1, month, number) - EPOCH_DAY).days + cycles * 146_097


def timestamp_text(conversion: Conversion, value: Any) -> datetime:
    """Read ISO text: `timestamp` in UTC by its offset, `timestamp_ntz` as the clock that the text shows."""
    if value in INFINITE_TEXTS:
        raise NoForm(value, moment(conversion, LAST if INFINITE_TEXTS[value] else FIRST))
    match = TIMESTAMP_TEXT.fullmatch(value)
    if match is None or int(match[4]) >= HOURS:
        raise ValueError(value)
    start = day_number(*map(int, match.groups()[:3]))
    shift = offset_seconds(match[8]) if conversion.delta == "timestamp" else 0
    clock = clock_microseconds(*match.groups()[3:7])
    return moment(conversion, start * DAY_MICROSECONDS + clock - shift * MICROSECONDS)


def offset_seconds(text: str | None) -> int:
    """Read `Z` or `+02:00`; a timestamp with a zone must have one."""
    if not text:
        raise ValueError(text)
    if text == "Z":
        return 0
    hours, minutes = (int(part) for part in text[1:].split(":"))
    return (-1 if text[0] == "-" else 1) * (hours * 60 + minutes) * 60


def clock_microseconds(hours: str, minutes: str, seconds: str, fraction: str | None) -> int:
    nanoseconds = int((fraction or "").ljust(9, "0"))
    if nanoseconds % 1000:
        raise ValueError(fraction)
    return (int(hours) * 3600 + int(minutes) * 60 + int(seconds)) * MICROSECONDS + nanoseconds // 1000


def time(conversion: Conversion, value: Any) -> int:
    return in_microseconds(conversion, whole(value))


def time_text(_: Conversion, value: Any) -> int:
    match = TIME_TEXT.fullmatch(value)
    if match is None:
        raise ValueError(value)
    return clock_microseconds(*match.groups())


def whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(value)
    return value
