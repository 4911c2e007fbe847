"""Values that are not one JSON text in UTF-8, or too large."""

from tests.support.payloads.kinds import Draw, kind_of
from tests.support.payloads.tokens import COLUMNS, MAX_BYTES, nested, one_of, sound, text, tree, unit, value


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
