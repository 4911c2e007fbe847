"""An event as JSON tokens, and other JSON to put in its place."""

import json
import unicodedata
from datetime import timedelta

from tests.support.payloads.kinds import Draw
from tests.support.records import NOON

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
