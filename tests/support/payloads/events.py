"""Values that are events."""

import unicodedata
from datetime import timedelta

from tests.support.payloads.kinds import Draw, kind_of
from tests.support.payloads.tokens import (
    COLUMNS,
    MAX_BYTES,
    OPTIONAL,
    assigned,
    calendar_day,
    clock,
    nested,
    one_of,
    past,
    quoted,
    sound,
    spaced,
    text,
    tree,
    unit,
    value,
)
from tests.support.records import NOON


@kind_of(None)
def plain(draw: Draw) -> bytes:
    return value(sound(draw))


@kind_of(None)
def whitespace(draw: Draw) -> bytes:
    return spaced(draw, sound(draw)).encode()


@kind_of(None)
def members_in_any_order(draw: Draw) -> bytes:
    members = list(sound(draw).items())
    draw.shuffle(members)
    return value(dict(members))


@kind_of(None)
def unknown_members(draw: Draw) -> bytes:
    extra = {f"x{number}": tree(draw, 0) for number in range(draw.randint(1, 5))}
    return value(extra | sound(draw))


@kind_of(None)
def unknown_nested_members(draw: Draw) -> bytes:
    return value(sound(draw) | {"": tree(draw), "more.of.it": tree(draw), "$[0].id": tree(draw)})


@kind_of(None)
def names_in_another_case(draw: Draw) -> bytes:
    return value(sound(draw) | {"ID": tree(draw), "Name": "1", "SMALL": '"x"', "dAy": "[]"})


@kind_of(None)
def names_with_escapes(draw: Draw) -> bytes:
    members = text(sound(draw))
    for name in draw.sample(list(COLUMNS), 4):
        members = members.replace(f'"{name}":', f'"{unit(ord(name[0]))}{name[1:]}":')
    return members.encode()


@kind_of(None)
def escapes(draw: Draw) -> bytes:
    short = ['\\"', "\\\\", "\\/", "\\b", "\\f", "\\n", "\\r", "\\t", "\\u0000", "\\u001f", "\\u00E9", "\\uFFFF"]
    return value(sound(draw, name='"' + "".join(draw.choices(short, k=draw.randint(1, 9))) + '"'))


@kind_of(None)
def escaped_surrogate_pairs(draw: Draw) -> bytes:
    def pair() -> str:
        found = unit(draw.randint(0xD800, 0xDBFF)) + unit(draw.randint(0xDC00, 0xDC7F))
        return found.upper().replace("U", "u") if draw.random() < 0.5 else found

    return value(sound(draw, seen=quoted(past(draw)), x='"' + "".join(pair() for _ in range(3)) + '"'))


@kind_of(None)
def escaped_backslashes_before_a_u(draw: Draw) -> bytes:
    backslashes = "\\\\" * draw.randint(1, 4)
    return value(
        sound(draw, name=f'"{backslashes}ud8{draw.randint(10, 99)} {backslashes}{unit(0xD83D)}{unit(0xDE00)}"')
    )


@kind_of(None)
def unicode_text(draw: Draw) -> bytes:
    return value(sound(draw, name=quoted("".join(assigned(draw) for _ in range(draw.randint(1, 8))))))


@kind_of(None)
def unicode_in_decomposed_form(draw: Draw) -> bytes:
    text = "".join(draw.choices("aeiouAEIOUncsz", k=3)) + "".join(draw.choices("\u0301\u0300\u0323\u0307\u0327", k=2))
    form = draw.choice(["NFC", "NFD", "NFKC", "NFKD"])
    return value(sound(draw, name=quoted(unicodedata.normalize(form, text + draw.choice("ÅΩ가각ﬁé")))))


@kind_of(None)
def text_that_looks_like_json(draw: Draw) -> bytes:
    name = draw.choice(['"]', '","x"]', "}]}]", "{[{[", "],[", "//", "NaN", "\\", "null", '{"id":1}', ""])
    return value(sound(draw, name=quoted(name + draw.choice(["", " ", "\n", name]))))


@kind_of(None)
def whole_numbers_in_floating_columns(draw: Draw) -> bytes:
    whole = str(draw.randint(-(10 ** draw.randint(1, 38)), 10 ** draw.randint(1, 38)))
    return value(sound(draw, degrees=whole, ratio=whole))


@kind_of(None)
def exponents_in_floating_columns(draw: Draw) -> bytes:
    def token(most: int) -> str:
        mantissa = f"{draw.choice(['', '-'])}{draw.randint(0, 9)}.{draw.randint(0, 10**17)}"
        return f"{mantissa}{draw.choice('eE')}{draw.choice(['', '+', '-', '-0', '+00'])}{draw.randint(0, most)}"

    return value(sound(draw, degrees=token(307), ratio=token(37)))


@kind_of(None)
def numbers_of_many_digits_in_floating_columns(draw: Draw) -> bytes:
    digits = "".join(draw.choices("0123456789", k=draw.randint(30, 400)))
    return value(sound(draw, degrees=f"{draw.randint(0, 10**6)}.{digits}", ratio=f"-{draw.randint(0, 9)}.{digits}"))


@kind_of(None)
def limits_of_doubles(draw: Draw) -> bytes:
    most = ["1.7976931348623157e308", "4.9e-324", "2.2250738585072012e-308", "1e-400", "0e99999", "9007199254740993"]
    return value(sound(draw, degrees=draw.choice(["", "-"]) + draw.choice(most)))


@kind_of(None)
def limits_of_floats(draw: Draw) -> bytes:
    most = ["3.4028235e38", "3.40282346638528859e38", "1e-45", "1e-60", "16777217", "0.1", "1.17549435e-38"]
    return value(sound(draw, ratio=draw.choice(["", "-"]) + draw.choice(most)))


@kind_of(None)
def limits_of_integers(draw: Draw) -> bytes:
    small = one_of(draw, "2147483647", "-2147483648", "0", "-0", "-1")
    long = one_of(draw, "9223372036854775807", "-9223372036854775808", "-0", "2147483648")
    return value(sound(draw, small=small, id=long, version=long))


@kind_of(None)
def limits_of_decimals(draw: Draw) -> bytes:
    sign = draw.choice(["", "-"])
    price = sign + draw.choice(["9999999999999999.9999", "9999999999999999", "0.0001", "0", "1", "0.0"])
    share = sign + draw.choice(["0.999", "0.001", "0", "0.0", "0.5"])
    huge = sign + draw.choice(["9" * 38, "1" + "0" * 37, "0", "7" * 37 + ".0", str(2**64)])
    return value(sound(draw, price=price, share=share, huge=huge))


@kind_of(None)
def decimals_with_zeros_behind(draw: Draw) -> bytes:
    return value(sound(draw, price=f"{draw.randint(0, 999)}.{draw.randint(0, 99)}{'0' * draw.randint(1, 30)}"))


@kind_of(None)
def negative_zeros(draw: Draw) -> bytes:
    zeros = ["-0.0", "-0", "-0e0", "-0E-7", "0", "0.000", "-1e-500"]
    return value(sound(draw, degrees=draw.choice(zeros), ratio=draw.choice(zeros), price=one_of(draw, "-0", "-0.0")))


@kind_of(None)
def nulls(draw: Draw) -> bytes:
    return value(sound(draw) | dict.fromkeys(draw.sample(OPTIONAL, draw.randint(1, len(OPTIONAL))), "null"))


@kind_of(None)
def missing_members(draw: Draw) -> bytes:
    gone = draw.sample(OPTIONAL, draw.randint(1, len(OPTIONAL)))
    return value({name: token for name, token in sound(draw).items() if name not in gone})


@kind_of(None)
def times_with_a_zone(draw: Draw) -> bytes:
    zone = one_of(draw, "Z", "+00:00", "-00:00", "+18:00", "-18:00", f"+{draw.randint(0, 17):02d}:59", "-03:30")
    return value(
        sound(draw, at=quoted(f"{calendar_day(draw)}{draw.choice('T ')}{clock(draw)[: draw.choice([5, 8])]}{zone}"))
    )


@kind_of(None)
def times_without_a_zone(draw: Draw) -> bytes:
    return value(sound(draw, at=quoted(f"{calendar_day(draw)}{draw.choice('T ')}{clock(draw)[: draw.choice([5, 8])]}")))


@kind_of(None)
def times_with_a_fraction(draw: Draw) -> bytes:
    fraction = str(draw.randint(0, 10**6 - 1))[: draw.randint(1, 6)]
    return value(sound(draw, at=quoted(f"{calendar_day(draw)}T{clock(draw)}.{fraction}{draw.choice(['', 'Z'])}")))


@kind_of(None)
def leap_days(draw: Draw) -> bytes:
    year = draw.choice([4, 400, 1600, 1972, 2000, 2024, 2400, 9996])
    return value(sound(draw, day=f'"{year:04d}-02-29"', at=f'"{year:04d}-02-29T23:59:59.999999Z"'))


@kind_of(None)
def first_and_last_days(draw: Draw) -> bytes:
    days = ["0001-01-01", "9999-12-31", "1582-10-10", "1969-12-31", "1970-01-01", "1900-02-28", "0099-12-31"]
    return value(sound(draw, day=quoted(draw.choice(days)), at=quoted(f"{draw.choice(days)}T{clock(draw)}Z")))


@kind_of(None)
def edges_of_the_rule(draw: Draw) -> bytes:
    return value(sound(draw, grade=one_of(draw, "1", "6", "null")))


@kind_of(None)
def times_just_inside_the_future_bound(draw: Draw) -> bytes:
    ahead = NOON + timedelta(hours=1, seconds=-draw.choice([0, 0, 1, 59, 3599]))
    zone = draw.choice([0, 5, -7])
    shown = (ahead + timedelta(hours=zone)).strftime("%Y-%m-%d %H:%M:%S")
    return value(sound(draw, seen=f'"{shown}{zone:+03d}:00"'))


@kind_of(None)
def huge_numbers_in_unknown_members(draw: Draw) -> bytes:
    digits = "".join(draw.choices("123456789", k=draw.choice([39, 400, 999])))
    return value(
        sound(draw) | {"x": digits, "y": f"-1.{digits}", "z": one_of(draw, "1e400", "-1e999999999", "1e-9999")}
    )


@kind_of(None, most=30)
def nesting_up_to_the_bound(draw: Draw) -> bytes:
    return value(sound(draw) | {"x": nested(draw, draw.choice([500, 900, 990, 997, 998]))})


@kind_of(None, most=8)
def values_up_to_the_size_allowed(draw: Draw) -> bytes:
    members = sound(draw)
    room = MAX_BYTES - len(value(members | {"name": '""'}))
    return value(members | {"name": quoted("é" * (room // 2) if draw.random() < 0.5 else "x" * room)})


@kind_of(None, most=8)
def names_up_to_the_length_allowed(draw: Draw) -> bytes:
    return value(sound(draw) | {"n" * draw.choice([8_000, 40_000, 50_000]): "1"})


@kind_of(None, most=8)
def objects_of_many_members(draw: Draw) -> bytes:
    return value({f"m{number}": str(number) for number in range(5_000)} | sound(draw))
