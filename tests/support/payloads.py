"""Record values of many classes, drawn from a seed: half of them events, half of them what goes wrong.

A class says what its values are meant to be: an event (None), or a reason. `Payload.meant` is that intention and not
the truth: the oracle finds it out on its own, and the test compares all three.
"""

import json
import random
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

from tests.support.records import NOON

Draw = random.Random
Maker = Callable[[Draw], bytes | None]
Members = dict[str, str]

MAX_BYTES = 262_144
COLUMNS = {
    "id": "bigint",
    "name": "string",
    "version": "bigint",
    "ok": "boolean",
    "small": "int",
    "grade": "int",
    "ratio": "float",
    "degrees": "double",
    "day": "date",
    "at": "timestamp",
    "price": "decimal(20,4)",
    "share": "decimal(3,3)",
    "huge": "decimal(38,0)",
    "seen": "string",
}
REQUIRED = ("id", "name", "version", "seen")
OPTIONAL = tuple(name for name in COLUMNS if name not in REQUIRED)
# Any outcome may be meant: the payload is an event that something has been done to.
ANY = "any"


@dataclass(frozen=True)
class Payload:
    """A record value, the class it was drawn for, and what it is meant to be."""

    kind: str
    meant: str | None
    value: bytes | None


@dataclass(frozen=True)
class Kind:
    """A class of values; `most` bounds how many are drawn where one is large."""

    meant: str | None
    make: Maker
    most: int | None


KINDS: dict[str, Kind] = {}


def payloads(seed: int, half: int = 5_300) -> Iterator[Payload]:
    """About `half` events and as many others, evenly from all classes."""
    for is_event in (True, False):
        kinds = {name: kind for name, kind in KINDS.items() if (kind.meant is None) == is_event}
        bounded = sum(kind.most for kind in kinds.values() if kind.most)
        each = -(-(half - bounded) // sum(kind.most is None for kind in kinds.values()))
        for name, kind in kinds.items():
            draw = random.Random(f"{seed} {name}")  # noqa: S311  repeatable on purpose
            for _ in range(kind.most or each):
                yield Payload(name, kind.meant, kind.make(draw))


def kind_of(meant: str | None, most: int | None = None) -> Callable[[Maker], Maker]:
    def register(make: Maker) -> Maker:
        KINDS[make.__name__] = Kind(meant, make, most)
        return make

    return register


def sound(draw: Draw, **tokens: str) -> Members:
    """The members of an event as JSON tokens, the given ones in place of what would be drawn."""
    members = {
        "id": str(draw.randint(-(10**9), 10**9)),
        "name": quoted(word(draw)),
        "version": str(draw.randint(0, 10**6)),
        "ok": draw.choice(["true", "false"]),
        "small": str(draw.randint(-(10**6), 10**6)),
        "grade": str(draw.randint(1, 6)),
        "ratio": repr(round(draw.uniform(-100, 100), draw.randint(0, 6))),
        "degrees": repr(draw.uniform(-1e3, 1e3)),
        "day": quoted(calendar_day(draw)),
        "at": quoted(f"{calendar_day(draw)}T{clock(draw)}"),
        "price": f"{draw.randint(-(10**12), 10**12)}.{draw.randint(0, 9999):04d}",
        "share": f"0.{draw.randint(0, 999):03d}",
        "huge": str(draw.randint(-(10**38) + 1, 10**38 - 1)),
        "seen": quoted(past(draw)),
    }
    return members | tokens


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def word(draw: Draw, characters: str = "abcdefghijklmnopqrstuvwxyz ABCDEFGHI0123456789-_/.") -> str:
    return "".join(draw.choices(characters, k=draw.randint(1, 12)))


def calendar_day(draw: Draw) -> str:
    return f"{draw.randint(1900, 2100):04d}-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d}"


def clock(draw: Draw) -> str:
    return f"{draw.randint(0, 23):02d}:{draw.randint(0, 59):02d}:{draw.randint(0, 59):02d}"


def past(draw: Draw) -> str:
    return (NOON - timedelta(seconds=draw.randint(0, 10**8))).strftime("%Y-%m-%dT%H:%M:%SZ")


def text(members: Members) -> str:
    return "{" + ",".join(f"{quoted(name)}:{token}" for name, token in members.items()) + "}"


def value(members: Members) -> bytes:
    return text(members).encode()


def one_of(draw: Draw, *tokens: str) -> str:
    return draw.choice(tokens)


def tree(draw: Draw, levels: int = 4) -> str:
    """Any JSON value."""
    shape = draw.randint(0, 7) if levels else draw.randint(2, 7)
    if shape == 0:
        return "[" + ",".join(tree(draw, levels - 1) for _ in range(draw.randint(0, 4))) + "]"
    if shape == 1:
        names = {word(draw) for _ in range(draw.randint(0, 4))}
        return "{" + ",".join(f"{quoted(name)}:{tree(draw, levels - 1)}" for name in sorted(names)) + "}"
    return one_of(draw, "null", "true", "false", "-1.5e-3", str(draw.randint(-(10**30), 10**30)), quoted(word(draw)))


def nested(draw: Draw, levels: int, core: str = "1") -> str:
    """Arrays, objects, or both, one within another."""
    array, members = ("[", "]"), ('{"id":', "}")
    pairs = draw.choice([[array], [members], [array, members]])
    chosen = [pairs[number % len(pairs)] for number in range(levels)]
    return "".join(opening for opening, _ in chosen) + core + "".join(closing for _, closing in reversed(chosen))


def spaced(draw: Draw, members: Members, space: str = " \t\r\n") -> str:
    def gap() -> str:
        return "".join(draw.choices(space, k=draw.randint(0, 3)))

    inside = ",".join(f"{gap()}{quoted(name)}{gap()}:{gap()}{token}{gap()}" for name, token in members.items())
    return f"{gap()}{{{inside}}}{gap()}"


def assigned(draw: Draw) -> str:
    """A character that Unicode has had for long, so that every library agrees on its forms."""
    while True:
        character = chr(draw.choice([draw.randint(0xA0, 0x2FFF), draw.randint(0x3000, 0x2FA1F)]))
        if unicodedata.category(character) not in {"Cn", "Cs", "Co"}:
            return character


def unit(code: int) -> str:
    return f"\\u{code:04x}"


# Events.


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
    return value(sound(draw, at=quoted(f"{calendar_day(draw)}{draw.choice('T ')}{clock(draw)}{zone}")))


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


# Not an event, by the bytes.


@kind_of("NULL_VALUE", most=40)
def no_value(draw: Draw) -> None:
    return None


@kind_of("OVERSIZED", most=8)
def too_large(draw: Draw) -> bytes:
    filling = draw.choice([b" ", b"\xff", "é".encode()])
    return value(sound(draw)) + filling * (MAX_BYTES // len(filling))


def with_raw_name(draw: Draw, raw: bytes) -> bytes:
    return value(sound(draw, name='"NAME"')).replace(
        b"NAME", b"a" * draw.randint(0, 3) + raw + b"b" * draw.randint(0, 3)
    )


@kind_of("NOT_UTF8")
def overlong_encodings(draw: Draw) -> bytes:
    return with_raw_name(draw, draw.choice([b"\xc0\x80", b"\xc1\xbf", b"\xe0\x80\xaf", b"\xf0\x80\x80\xaf"]))


@kind_of("NOT_UTF8")
def truncated_characters(draw: Draw) -> bytes:
    return with_raw_name(draw, draw.choice([b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98"]))


@kind_of("NOT_UTF8")
def surrogates_in_utf8(draw: Draw) -> bytes:
    return with_raw_name(draw, chr(draw.randint(0xD800, 0xDFFF)).encode("utf-8", "surrogatepass"))


@kind_of("NOT_UTF8")
def lone_continuation_bytes(draw: Draw) -> bytes:
    return with_raw_name(draw, bytes([draw.randint(0x80, 0xBF)]))


@kind_of("NOT_UTF8")
def bytes_that_utf8_never_has(draw: Draw) -> bytes:
    return with_raw_name(draw, draw.choice([b"\xf5\x80\x80\x80", b"\xff", b"\xfe", b"\xf4\x90\x80\x80"]))


@kind_of("NOT_UTF8")
def other_encodings(draw: Draw) -> bytes:
    return text(sound(draw, name='"é€"')).encode(draw.choice(["utf-16", "cp1252", "utf-16-le", "utf-16-be"]))


@kind_of("NOT_JSON")
def truncated_texts(draw: Draw) -> bytes:
    whole = value(sound(draw))
    return whole[: draw.randint(1, len(whole) - 1)]


@kind_of("NOT_JSON")
def trailing_text(draw: Draw) -> bytes:
    return value(sound(draw)) + draw.choice([b" x", b"]", b"}", b",", b'"', b"\x00", b'],"', b"\xc2\xa0", b"null"])


@kind_of("NOT_JSON")
def several_values(draw: Draw) -> bytes:
    between = draw.choice([b"", b" ", b"\n", b",", b"],[", b'],"x"],["'])
    return value(sound(draw)) + between + value(sound(draw))


@kind_of("NOT_JSON", most=20)
def several_deep_values(draw: Draw) -> bytes:
    return value(sound(draw)) + b"," + nested(draw, 990).encode()


@kind_of("NOT_JSON")
def equal_names(draw: Draw) -> bytes:
    name = draw.choice([*COLUMNS, "x"])
    return (text(sound(draw, x="1"))[:-1] + f',"{name}":{draw.choice(["1", "null"])}}}').encode()


@kind_of("NOT_JSON")
def equal_names_by_an_escape(draw: Draw) -> bytes:
    name = draw.choice(list(COLUMNS))
    return (text(sound(draw))[:-1] + f',"{unit(ord(name[0]))}{name[1:]}":1}}').encode()


@kind_of("NOT_JSON")
def equal_names_deeper(draw: Draw) -> bytes:
    return value(sound(draw) | {"x": f'[{{"a":1,"b":{tree(draw)},"a":{tree(draw)}}}]'})


@kind_of("NOT_JSON")
def constants_that_json_lacks(draw: Draw) -> bytes:
    token = one_of(draw, "NaN", "Infinity", "-Infinity", "True", "FALSE", "None", "NULL", "undefined", "nul", "truee")
    return value(sound(draw) | {draw.choice([*COLUMNS, "x"]): token})


@kind_of("NOT_JSON")
def numbers_that_json_lacks(draw: Draw) -> bytes:
    token = one_of(
        draw, "01", "-01", "00", "+1", ".5", "1.", "1.e5", "1e", "1e+", "-", "0x10", "1_000", "--1", "1,5", "1e1.5", "١"
    )
    return value(sound(draw) | {draw.choice([*COLUMNS, "x"]): token})


@kind_of("NOT_JSON", most=30)
def numbers_beyond_the_bound(draw: Draw) -> bytes:
    digits = "7" * draw.choice([1_001, 5_000, 100_000])
    return value(sound(draw) | {draw.choice([*COLUMNS, "x"]): one_of(draw, digits, f"0.{digits}", f"-{digits}e5")})


@kind_of("NOT_JSON")
def single_quotes(draw: Draw) -> bytes:
    return draw.choice([text(sound(draw)).replace('"', "'"), text(sound(draw, name="'x'"))]).encode()


@kind_of("NOT_JSON")
def names_without_quotes(draw: Draw) -> bytes:
    name = draw.choice(list(COLUMNS))
    return text(sound(draw)).replace(f'"{name}":', f"{name}:").encode()


@kind_of("NOT_JSON")
def comments(draw: Draw) -> bytes:
    comment = draw.choice(["/* x */", "// x\n", "# x\n", "<!-- x -->"])
    whole = text(sound(draw))
    return draw.choice([comment + whole, whole + comment, whole.replace(",", f",{comment}", 1)]).encode()


@kind_of("NOT_JSON")
def wrong_punctuation(draw: Draw) -> bytes:
    whole = text(sound(draw))
    broken = [whole[:-1] + ",}", "{," + whole[1:], whole.replace('":', '" ', 1), whole.replace(",", ";", 1)]
    return draw.choice([*broken, whole.replace(",", ",,", 1), whole.replace(":", "::", 1), whole[:-1] + "]"]).encode()


@kind_of("NOT_JSON")
def bad_escapes(draw: Draw) -> bytes:
    return value(
        sound(draw, name='"' + draw.choice(["\\x41", "\\a", "\\'", "\\u12", "\\u12G4", "\\U0041", "\\0", "\\"]) + '"')
    )


@kind_of("NOT_JSON")
def lone_surrogates(draw: Draw) -> bytes:
    high, low = unit(draw.randint(0xD800, 0xDBFF)), unit(draw.randint(0xDC00, 0xDFFF))
    lone = draw.choice([high, low, low + high, high + high, high + "x" + low, "\\\\" + low, high + "\\\\" + low[1:]])
    return value(sound(draw, **{draw.choice(["name", "x"]): f'"{draw.choice(["", "a"])}{lone}"'}))


@kind_of("NOT_JSON")
def lone_surrogates_in_names(draw: Draw) -> bytes:
    lone = draw.choice([unit(0xDBFF), unit(0xDC00)])
    return (text(sound(draw))[:-1] + f',"x{lone}":1}}').encode()


@kind_of("NOT_JSON")
def control_characters(draw: Draw) -> bytes:
    return with_raw_name(draw, bytes([draw.randint(0, 31)]))


@kind_of("NOT_JSON")
def space_that_json_lacks(draw: Draw) -> bytes:
    space = draw.choice(["\x0b", "\x0c", "\x00", "\u00a0", "\u2028", "\u3000", "\x1f", "\x85"])
    whole = text(sound(draw))
    return draw.choice([space + whole, whole + space, whole.replace(":", ":" + space, 1)]).encode()


@kind_of("NOT_JSON")
def byte_order_marks(draw: Draw) -> bytes:
    return b"\xef\xbb\xbf" + value(sound(draw))


@kind_of("NOT_JSON")
def nothing_but_space(draw: Draw) -> bytes:
    return "".join(draw.choices(" \t\r\n", k=draw.randint(0, 5))).encode()


@kind_of("NOT_JSON")
def other_formats(draw: Draw) -> bytes:
    others = ["id: 1", "<id>1</id>", "id,name\n1,x", "id=1&name=x", "{id=1, name=x}", "hello", "\x00\x00\x00\x00\x01id"]
    return draw.choice(others).encode()


@kind_of("NOT_JSON", most=30)
def nesting_beyond_the_bound(draw: Draw) -> bytes:
    return draw.choice([value(sound(draw) | {"x": nested(draw, 999)}), nested(draw, 1_000).encode()])


@kind_of("NOT_JSON", most=12)
def nesting_far_beyond_the_bound(draw: Draw) -> bytes:
    return draw.choice([b"[" * 100_000 + b"]" * 100_000, b"[" * 200_000, b'{"id":' * 40_000 + b"1"])


@kind_of("NOT_JSON", most=8)
def names_beyond_the_length_allowed(draw: Draw) -> bytes:
    return value(sound(draw) | {"n" * draw.choice([50_001, 100_000]): "1"})


# JSON, and not an event.


@kind_of("NOT_AN_OBJECT")
def arrays(draw: Draw) -> bytes:
    return f"[{tree(draw)},{text(sound(draw))}]".encode()


@kind_of("NOT_AN_OBJECT")
def scalars(draw: Draw) -> bytes:
    return (
        " " + one_of(draw, "null", "true", "false", "1", "-1.5e3", '"x"', '"{}"', "1e400", "9" * 50) + "\n"
    ).encode()


@kind_of("NOT_AN_OBJECT", most=20)
def deep_arrays(draw: Draw) -> bytes:
    return f"[{nested(draw, draw.choice([900, 998]))}]".encode()


def not_of(draw: Draw, *columns: str, tokens: list[str]) -> bytes:
    return value(sound(draw) | {draw.choice(columns): draw.choice(tokens)})


@kind_of("WRONG_TYPE")
def texts_that_are_none(draw: Draw) -> bytes:
    return not_of(draw, "name", "seen", tokens=["1", "1.5", "true", "[]", "{}", '["x"]', "1e5", '{"name":"x"}'])


@kind_of("WRONG_TYPE")
def booleans_that_are_none(draw: Draw) -> bytes:
    return not_of(draw, "ok", tokens=["1", "0", '"true"', '"false"', "[true]", "{}", '""', "1.0"])


@kind_of("WRONG_TYPE")
def integers_that_are_none(draw: Draw) -> bytes:
    tokens = ['"1"', "true", "1.0", "1.5", "1e2", "1E0", "[1]", "{}", '""', "-0.0", "0e0"]
    return not_of(draw, "id", "small", "version", "grade", tokens=tokens)


@kind_of("WRONG_TYPE")
def integers_out_of_range(draw: Draw) -> bytes:
    small = ["2147483648", "-2147483649", "70000000000", "9223372036854775808", "1" * 400]
    long = ["9223372036854775808", "-9223372036854775809", "9" * 38, "-" + "9" * 39, "1" * 400]
    return draw.choice([not_of(draw, "small", tokens=small), not_of(draw, "id", "version", tokens=long)])


@kind_of("WRONG_TYPE")
def floating_numbers_that_are_none(draw: Draw) -> bytes:
    tokens = ['"1.5"', '"NaN"', '"Infinity"', "true", "[1.5]", '{"a":1}', '""']
    return not_of(draw, "ratio", "degrees", tokens=tokens)


@kind_of("WRONG_TYPE")
def floating_numbers_out_of_range(draw: Draw) -> bytes:
    double = ["1e400", "-1e309", "1.7976931348623159e308", "9" * 400, "-1e999999999"]
    single = ["1e39", "-3.5e38", "3.4028236e38", "9" * 39, "1e400"]
    return draw.choice([not_of(draw, "degrees", tokens=double), not_of(draw, "ratio", tokens=single)])


@kind_of("WRONG_TYPE")
def decimals_that_are_none(draw: Draw) -> bytes:
    return not_of(draw, "price", "share", "huge", tokens=['"1"', "true", "[0]", "{}", '"0.5"', "false"])


@kind_of("WRONG_TYPE")
def decimals_out_of_range(draw: Draw) -> bytes:
    price = ["10000000000000000", "-10000000000000000.0", "9" * 38, "9" * 39, "1" * 400]
    share = ["1", "-1", "1.0", "0.9999", "10", "1" + "0" * 30]
    huge = ["1" + "0" * 38, "-" + "9" * 39, "9" * 60]
    column, tokens = draw.choice([("price", price), ("share", share), ("huge", huge)])
    return not_of(draw, column, tokens=tokens)


@kind_of("WRONG_TYPE")
def decimals_with_too_many_digits(draw: Draw) -> bytes:
    price = [
        "0.00001",
        "1.23456",
        "9999999999999999.99995",
        "0.0" + "0" * 36 + "1",
        "1." + "0" * 50 + "1",
        "0.1" + "0" * 40,
    ]
    share = ["0.0001", "0.9995", "-0.0005", "0." + "0" * 37 + "1", "0." + "3" * 38, "0." + "3" * 60]
    huge = ["0.5", "1.0000001", "9" * 37 + ".9", "0." + "0" * 30 + "1", "7" * 38 + ".0"]
    column, tokens = draw.choice([("price", price), ("share", share), ("huge", huge)])
    return not_of(draw, column, tokens=tokens)


@kind_of("WRONG_TYPE")
def decimals_with_an_exponent(draw: Draw) -> bytes:
    return not_of(draw, "price", "share", "huge", tokens=["1e-1", "0e0", "5E-1", "1e400", "1e-400", "1e-600000000"])


@kind_of("WRONG_TYPE")
def days_that_are_none(draw: Draw) -> bytes:
    tokens = [
        "20230105",
        "true",
        "[]",
        '""',
        '"2023"',
        '"2023-01"',
        '"2023-1-5"',
        '"23-01-05"',
        '"2023-01-05T00:00:00"',
    ]
    sloppy = ['" 2023-01-05"', '"2023-01-05 "', '"2023-01-05\\n"', '"today"', '"+2023-01-05"', '"２０２３-01-05"', "{}"]
    return not_of(draw, "day", tokens=tokens + sloppy)


@kind_of("WRONG_TYPE")
def impossible_days(draw: Draw) -> bytes:
    tokens = [
        "2023-02-29",
        "1900-02-29",
        "2023-13-01",
        "2023-00-10",
        "2023-04-31",
        "2023-01-00",
        "0000-01-01",
        "2023-01-32",
    ]
    return not_of(draw, "day", tokens=[quoted(token) for token in tokens])


@kind_of("WRONG_TYPE")
def times_that_are_none(draw: Draw) -> bytes:
    sloppy = [
        "10:00",
        "T10:00",
        "2023-01-05",
        "2023-01-05T10",
        "2023-01-05t10:00",
        "2023-01-05  10:00",
        "now",
        "",
        "1673000000",
    ]
    zones = [
        "2023-01-05T10:00z",
        "2023-01-05T10:00 UTC",
        "2023-01-05T10:00+1",
        "2023-01-05T10:00+0100",
        "2023-01-05T10:00Z\n",
    ]
    odd = ["2023-01-05T10:00:00.", "2023-01-05T10:00:00.1234567", "2023-01-05T10:00:00,5", "12023-01-05T10:00Z"]
    return not_of(
        draw, "at", tokens=[*(quoted(token) for token in sloppy + zones + odd), "1673000000", "[]", "{}", "true"]
    )


@kind_of("WRONG_TYPE")
def impossible_times(draw: Draw) -> bytes:
    clocks = ["24:00", "23:60", "23:59:60", "25:00:00Z", "10:00+18:01", "10:00-19:00", "10:00+01:60", "10:00+99:99"]
    days = [f"{calendar_day(draw)}T{time}" for time in clocks] + [
        "2023-02-29T10:00Z",
        "2023-13-01T10:00",
        "0000-01-01T00:00Z",
    ]
    beyond = ["0001-01-01T00:00+00:01", "9999-12-31T23:59:59.999999-00:01", "9999-12-31T23:00-18:00"]
    return not_of(draw, "at", tokens=[quoted(token) for token in days + beyond])


@kind_of("WRONG_TYPE", most=40)
def deep_values_in_columns(draw: Draw) -> bytes:
    return not_of(draw, *COLUMNS, tokens=[f"[{nested(draw, draw.choice([900, 997]))}]"])


# Events that the pipeline turns away.


@kind_of("NULL_KEY")
def null_keys(draw: Draw) -> bytes:
    return value(sound(draw) | dict.fromkeys(draw.choice([["id"], ["name"], ["id", "name"]]), "null"))


@kind_of("NULL_KEY")
def missing_keys(draw: Draw) -> bytes:
    gone = draw.choice([{"id"}, {"name"}, set(COLUMNS)])
    return value({name: token for name, token in sound(draw).items() if name not in gone})


@kind_of("NULL_SEQUENCE")
def null_sequences(draw: Draw) -> bytes:
    members = sound(draw, version="null")
    if draw.random() < 0.5:
        del members["version"]
    return value(members)


@kind_of("RULE_passed")
def broken_rules(draw: Draw) -> bytes:
    return value(sound(draw, grade=one_of(draw, "0", "7", "-1", "2147483647")))


@kind_of("NO_TIME")
def events_without_a_time(draw: Draw) -> bytes:
    members = sound(draw, seen="null")
    if draw.random() < 0.5:
        del members["seen"]
    return value(members)


@kind_of("NO_TIME")
def events_whose_time_is_none(draw: Draw) -> bytes:
    texts = [
        "yesterday",
        "10:00",
        "2023",
        "2023-01",
        "2023-01-05",
        "",
        "now",
        " 2023-01-05T10:00Z",
        "2023-02-30T10:00Z",
    ]
    return value(sound(draw, seen=quoted(draw.choice(texts))))


@kind_of("FUTURE")
def events_from_the_future(draw: Draw) -> bytes:
    ahead = NOON + timedelta(hours=1, seconds=draw.choice([1, 60, 10**6, 3 * 10**8]))
    return value(sound(draw, seen=quoted(draw.choice([ahead.strftime("%Y-%m-%dT%H:%M:%SZ"), "9999-12-31T23:59Z"]))))


@kind_of("WRONG_TYPE")
def two_things_wrong_at_once(draw: Draw) -> bytes:
    later = draw.choice([{"name": "null"}, {"version": "null"}, {"grade": "9"}, {"seen": '"no time"'}])
    return value(sound(draw, ok='"yes"') | later)


@kind_of(ANY)
def one_byte_changed(draw: Draw) -> bytes:
    whole = bytearray(value(sound(draw)))
    whole[draw.randrange(len(whole))] = draw.choice([draw.randrange(256), *b'"{}[]:,\\0e.- \n'])
    return bytes(whole)


@kind_of(ANY)
def one_byte_more_or_less(draw: Draw) -> bytes:
    whole, place = value(sound(draw)), draw.randrange(200)
    return draw.choice(
        [
            whole[:place] + whole[place + 1 :],
            whole[:place] + draw.choice(b'"{}[]:,\\0e.- \n').to_bytes() + whole[place:],
        ]
    )
