"""JSON records with nested columns, drawn from a seed: most values are sound, and any of them may be something else."""

import random
from collections.abc import Iterator

from tests.support.payloads.kinds import Draw
from tests.support.payloads.tokens import calendar_day, clock, nested, quoted, tree, unit, word

COLUMNS = {
    "id": "bigint",
    "tags": "array<string>",
    "grid": "array<array<int>>",
    "prices": "map<string,decimal(6,2)>",
    "who": "struct<name:string,born:date,at:timestamp,ok:boolean>",
    "lines": "array<struct<sku:string,n:bigint,share:float,more:map<string,double>>>",
    "any": "variant",
    "raw": "json",
}
MAX_BYTES = 65_536
DEPTHS = [1, 50, 98, 99, 100, 101, 300, 990]
STRANGE = [
    "1e400",
    "1" * 38,
    "1" * 39,
    "-0.0",
    "1.50",
    "1E5",
    "0." + "0" * 37 + "1",
    "0." + "3" * 39,
    "-2e308",
    "1e308",
]
SOUND = {
    "string": ['""', '"é"', '"\\u00e9"', '"a,\\"raw\\":1"', '"}{]["', '"\\\\"', '"2023-01-05"'],
    "int": ["0", "-1", "2147483647", "-2147483648"],
    "bigint": ["7", "9223372036854775807"],
    "decimal(6,2)": ["1", "1.50", "-9999.99", "0.0", "-0.0", "12.500"],
    "float": ["1.5", "1e-3", "-0.0", "3.4028234e38", "7"],
    "double": ["1.5", "1E5", "-0.0", "1e308", "12345678901234567890"],
    "boolean": ["true", "false"],
}
OTHER = [
    "1",
    '"1"',
    "true",
    "[]",
    "{}",
    "1.5",
    "2147483648",
    "1.505",
    "1e400",
    '"2023-02-30"',
    '{"a":[1]}',
    "[[1]]",
    "1e2",
]


def payloads(seed: int, count: int) -> Iterator[bytes]:
    draw = random.Random(f"{seed} nested")
    for number in range(count):
        members = {name: token_of(draw, kind) for name, kind in COLUMNS.items() if draw.random() < 0.8}
        members |= {"id": str(number)} | {f"x{each}": tree(draw) for each in range(draw.randrange(3))}
        if draw.random() < 0.05:
            members[draw.choice(["x", *COLUMNS])] = nested(draw, draw.choice(DEPTHS))
        named = list(members.items())
        draw.shuffle(named)
        yield joined(
            draw, "{", [f"{name_of(draw, name)}{gap(draw)}:{gap(draw)}{token}" for name, token in named], "}"
        ).encode()


def token_of(draw: Draw, kind: str) -> str:
    """Of the declared kind, mostly."""
    chance = draw.random()
    if chance < 0.08:
        return "null" if chance < 0.06 else draw.choice(OTHER)
    return nested_token(draw, kind) if "<" in kind else plain_token(draw, kind)


def plain_token(draw: Draw, kind: str) -> str:
    if kind in {"variant", "json"}:
        return draw.choice([tree(draw), tree(draw), tree(draw), draw.choice(STRANGE), f"[{draw.choice(STRANGE)}]"])
    if kind in SOUND:
        return draw.choice(SOUND[kind])
    return quoted(calendar_day(draw) if kind == "date" else f"{calendar_day(draw)}T{clock(draw)}Z")


def nested_token(draw: Draw, kind: str) -> str:
    if kind.startswith("array<"):
        return joined(draw, "[", [token_of(draw, kind[6:-1]) for _ in range(draw.randrange(4))], "]")
    if kind.startswith("map<"):
        names = {draw.choice(["", "é", "a'b", word(draw)]) for _ in range(draw.randrange(4))}
        return joined(draw, "{", [f"{quoted(name)}:{token_of(draw, kind[11:-1])}" for name in sorted(names)], "}")
    return struct_of(draw, kind)


def struct_of(draw: Draw, kind: str) -> str:
    fields = dict(field.split(":", 1) for field in split(kind[7:-1]))
    members = {name: token_of(draw, inner) for name, inner in fields.items() if draw.random() < 0.8}
    members |= {"X": tree(draw)} if draw.random() < 0.3 else {}
    return joined(draw, "{", [f"{name_of(draw, name)}:{token}" for name, token in members.items()], "}")


def split(fields: str) -> list[str]:
    """At the commas that are not inside of a kind."""
    found, depth = [""], 0
    for char in fields:
        depth += (char == "<") - (char == ">")
        if char == "," and not depth:
            found.append("")
        else:
            found[-1] += char
    return found


def joined(draw: Draw, opening: str, tokens: list[str], closing: str) -> str:
    return opening + ",".join(f"{gap(draw)}{token}{gap(draw)}" for token in tokens) + closing


def gap(draw: Draw) -> str:
    return draw.choice(["", "", "", " ", "\n\t"])


def name_of(draw: Draw, name: str) -> str:
    """Sometimes with its first character escaped."""
    return quoted(name) if draw.random() < 0.9 or not name else f'"{unit(ord(name[0]))}{name[1:]}"'
