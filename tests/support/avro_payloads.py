"""Avro values by the thousand, seeded: half of them as writers made them, half with something done to them."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

from tests.support.avro import datum, field, framed, logical, record

COLOUR = {"type": "enum", "name": "Colour", "symbols": ["red", "green", "blue"]}
DAY, SEEN = logical("int", "date"), logical("long", "timestamp-micros")
PRICE = logical("bytes", "decimal", precision=8, scale=2)
COLUMNS = {
    "id": "bigint",
    "name": "string",
    "score": "double",
    "stars": "int",
    "colour": "string",
    "day": "date",
    "seen": "timestamp",
    "price": "decimal(8,2)",
    "items": "array<struct<text:string,at:date,by:bigint>>",
    "marks": "map<string,decimal(8,2)>",
}
MAX_BYTES = 400


def item(*more: dict[str, Any], plain: bool) -> dict[str, Any]:
    inside = [
        field("text", "string"),
        *more,
        field("at", "int" if plain else DAY),
        field("by", ["null", "long"], default=None),
    ]
    return {"type": "record", "name": "Item", "fields": inside}


# What no column asks for.
MORE = field("more", {"type": "array", "items": "string"}, default=[])


def read_as() -> str:
    """The reader's fields, plain, as far as columns ask for them."""
    return changed(plain=True, items={"type": "array", "items": ["null", item(plain=True)]})


def fields(*, plain: bool) -> list[dict[str, Any]]:
    """Of the reader; plain, as bytes and numbers."""
    return [
        field("id", "long"),
        field("name", ["null", "string"], default=None, aliases=["title"]),
        field("score", "double"),
        field("stars", "int", default=3),
        field("colour", COLOUR),
        field("day", "int" if plain else DAY),
        field("seen", "long" if plain else SEEN),
        field("price", "bytes" if plain else PRICE),
        field("items", {"type": "array", "items": ["null", item(MORE, plain=plain)]}, default=[]),
        field("marks", {"type": "map", "values": ["null", "bytes" if plain else PRICE]}, default={}),
    ]


def changed(*more: dict[str, Any], plain: bool, without: tuple[str, ...] = (), **kinds: Any) -> str:
    """The reader's fields with other types, less some, and with others behind them."""
    kept = [each | ({"type": kinds[each["name"]]} if each["name"] in kinds else {}) for each in fields(plain=plain)]
    return record(*(each for each in kept if each["name"] not in without), *more)


NESTED = {"type": "record", "name": "Note", "fields": [field("text", "string"), field("by", ["null", "long"])]}


def schemas(*, plain: bool, renamed: str = "title") -> dict[int, str]:
    """By id. Python's reader knows no aliases: for it the renamed field has the new name already."""
    return {
        1: changed(plain=plain),
        2: changed(field(renamed, "string"), plain=plain, without=("name", "stars", "items"), id="int", score="float"),
        3: changed(
            field("notes", {"type": "array", "items": NESTED}),
            field("tags", {"type": "map", "values": "float"}),
            field("raw", "bytes"),
            plain=plain,
            without=("stars",),
        ),
    }


REFUSED = {4: record(field("id", "string"))}
FOREIGN = (5,)


def value_of(draw: random.Random, schema: str) -> dict[str, Any]:
    """Of this schema's fields; not all of the values are fit for a column."""
    found: dict[str, Any] = {
        "id": draw.choice([0, -1, draw.randrange(-(2**31), 2**31)]),
        "name": draw.choice([None, "", "é", "name" * draw.randrange(4)]),
        "score": draw.choice([0.0, -0.0, 0.5, draw.randrange(1000) / 8]),
        "stars": draw.randrange(6),
        "colour": draw.choice(COLOUR["symbols"]),
        "day": day_of(draw),
        "seen": draw.randrange(-(2**62), 2**62) if draw.random() < 0.03 else draw.randrange(2**50),
        "price": price_of(draw),
        "notes": [{"text": "n", "by": draw.choice([None, 5])} for _ in range(draw.randrange(3))],
        "tags": {f"t{place}": 0.5 for place in range(draw.randrange(3))},
        "raw": draw.randbytes(draw.randrange(5)),
        "title": draw.choice(["", "title", "ß"]),
        "items": [draw.choice([None, item_of(draw)]) for _ in range(draw.randrange(4))],
        "marks": {draw.choice(["", "é", "k"]): draw.choice([None, price_of(draw)]) for _ in range(draw.randrange(3))},
    }
    return {each["name"]: found[each["name"]] for each in json.loads(schema)["fields"]}


def item_of(draw: random.Random) -> dict[str, Any]:
    more = ["é"] * draw.randrange(2)
    return {"text": draw.choice(["", "é", "x"]), "more": more, "at": day_of(draw), "by": draw.choice([None, -7])}


def day_of(draw: random.Random) -> int:
    return 3_000_000 if draw.random() < 0.03 else draw.randrange(-700_000, 2_900_000)


def price_of(draw: random.Random) -> bytes:
    cents = 10**9 if draw.random() < 0.01 else draw.randrange(-(10**7), 10**7)
    return cents.to_bytes(draw.choice([5, 6, 9]), signed=True)


def payloads(seed: int, count: int) -> Iterator[bytes | None]:
    draw = random.Random(seed)
    written = schemas(plain=True)
    for _ in range(count):
        number = draw.choice(list(written))
        content = datum(written[number], value_of(draw, written[number]))
        yield framed(number, content) if draw.random() < 0.5 else draw.choice(HARM)(draw, number, content)


def cut(draw: random.Random, number: int, content: bytes) -> bytes:
    return framed(number, content[: draw.randrange(len(content))])


def longer(draw: random.Random, number: int, content: bytes) -> bytes:
    return framed(number, content + draw.randbytes(draw.randrange(1, 30)))


def flipped(draw: random.Random, number: int, content: bytes) -> bytes:
    """One byte is another: often still an event, sometimes of quite another length."""
    place = draw.randrange(len(content))
    return framed(number, content[:place] + draw.randbytes(1) + content[place + 1 :])


def drawn(draw: random.Random, number: int, content: bytes) -> bytes:
    return framed(number, draw.randbytes(len(content)))


def other_id(draw: random.Random, number: int, content: bytes) -> bytes:
    return framed(draw.choice([0, 1, 2, 3, 4, 5, 6, 2**31, 2**32 - 1]), content)


def other_magic(draw: random.Random, number: int, content: bytes) -> bytes:
    return bytes([draw.randrange(1, 256)]) + framed(number, content)[1:]


def no_header(draw: random.Random, number: int, content: bytes) -> bytes:
    return framed(number, content)[: draw.randrange(5)]


def oversized(draw: random.Random, number: int, content: bytes) -> bytes:
    return framed(number, content + bytes(MAX_BYTES))


def no_value(draw: random.Random, number: int, content: bytes) -> None:
    return None


def no_text(draw: random.Random, number: int, content: bytes) -> bytes:
    return framed(number, content.replace("é".encode(), b"\xff\xfe").replace("ß".encode(), b"\xc3\x28"))


HARM: list[Callable[[random.Random, int, bytes], bytes | None]] = [
    cut,
    longer,
    flipped,
    flipped,
    drawn,
    other_id,
    other_magic,
    no_header,
    oversized,
    no_value,
    no_text,
]
