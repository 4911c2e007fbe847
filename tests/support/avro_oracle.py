"""What a careful reader makes of an Avro value: a second decoder, in plain Python, on the `avro` package."""

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import avro.schema
from avro.errors import AvroException
from avro.io import BinaryDecoder, DatumReader

FIRST_DAY, LAST_DAY = date.min.toordinal() - date(1970, 1, 1).toordinal(), date.max.toordinal() - 719_163
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LONGEST = datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC), datetime(1, 1, 1, tzinfo=UTC)
LAST, FIRST = ((end - EPOCH) // timedelta(microseconds=1) for end in LONGEST)


NOT_UTF8 = re.compile("[\ud800-\udfff]")


class NotAvro(Exception):
    """The bytes are none that a writer of the schema could have made."""


class Wrong(Exception):
    """The record is whole, and a value of it is turned away."""


class CarefulDecoder(BinaryDecoder):
    """Numbers have at most as many bytes as their type needs: Java's decoder minds, Python's does not."""

    def _number(self, most: int, bits: int) -> int:
        found = 0
        for place in range(most):
            byte = self.read(1)[0]
            found |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                found &= 2**bits - 1
                return (found >> 1) ^ -(found & 1)
        raise NotAvro("a number is too long")

    def read_int(self) -> int:
        return self._number(5, 32)

    def read_long(self) -> int:
        return self._number(10, 64)

    def read_utf8(self) -> str:
        """What is no text is told apart later: first of all the record has to be whole."""
        return self.read_bytes().decode("utf-8", "surrogateescape")

    def skip_int(self) -> None:
        self.read_int()

    def skip_long(self) -> None:
        self.read_long()

    def skip(self, n: int) -> None:
        """Of what no column is made of, only the end is looked for: a length below zero is none."""
        self.read(max(n, 0))


class CarefulReader(DatumReader):
    """A place before the first is none; Python's lists have one."""

    def read_union(self, writers_schema: Any, readers_schema: Any, decoder: Any) -> Any:
        self._refuse_negative(decoder)
        return super().read_union(writers_schema, readers_schema, decoder)

    def read_enum(self, writers_schema: Any, readers_schema: Any, decoder: Any) -> Any:
        self._refuse_negative(decoder)
        return super().read_enum(writers_schema, readers_schema, decoder)

    def skip_array(self, writers_schema: Any, decoder: Any) -> None:
        self._skip_blocks(decoder, lambda: self.skip_data(writers_schema.items, decoder))

    def skip_map(self, writers_schema: Any, decoder: Any) -> None:
        def skip_entry() -> None:
            decoder.skip_utf8()
            self.skip_data(writers_schema.values, decoder)

        self._skip_blocks(decoder, skip_entry)

    def _skip_blocks(self, decoder: Any, skip_item: Callable[[], None]) -> None:
        """A block that tells its size is skipped by it."""
        while (count := decoder.read_long()) != 0:
            if count < 0:
                decoder.skip(decoder.read_long())
            for _ in range(count):
                skip_item()

    def _refuse_negative(self, decoder: Any) -> None:
        place = decoder.reader.tell()
        if decoder.read_int() < 0:
            raise NotAvro("a place before the first")
        decoder.reader.seek(place)


@dataclass(frozen=True)
class Known:
    """What the registry would say. Schemas without logical types: what numbers mean is decided here."""

    reader: str
    writers: dict[int, str]
    refused: frozenset[int]
    foreign: frozenset[int]
    max_bytes: int


def judge(value: bytes | None, known: Known) -> tuple[str | None, dict[str, Any]]:
    """The first reason that a reader of the bytes would meet, or the event."""
    reason = of_header(value, known)
    if reason is not None or value is None:
        return reason, {}
    reader = CarefulReader(
        avro.schema.parse(known.writers[int.from_bytes(value[1:5])]), avro.schema.parse(known.reader)
    )
    stream = io.BytesIO(value[5:])
    try:
        found = reader.read(CarefulDecoder(stream))
    except (AvroException, NotAvro, AssertionError):
        return "NOT_AVRO", {}
    if b"" in [found["price"], *found["marks"].values()]:
        return "NOT_AVRO", {}
    if stream.tell() < len(value) - 5:
        return "TRAILING_BYTES", {}
    try:
        return None, values_of(found)
    except Wrong as wrong:
        return str(wrong), {}


def of_header(value: bytes | None, known: Known) -> str | None:
    if value is None:
        return "NULL_VALUE"
    if len(value) > known.max_bytes:
        return "OVERSIZED"
    if len(value) < 5:
        return "NO_HEADER"
    if value[0] != 0:
        return "BAD_MAGIC"
    return of_schema(int.from_bytes(value[1:5]), known)


def of_schema(number: int, known: Known) -> str | None:
    if number in known.foreign:
        return "WRONG_SUBJECT"
    if number in known.refused:
        return "UNREADABLE_SCHEMA"
    return None if number in known.writers else "UNKNOWN_SCHEMA"


def values_of(found: dict[str, Any]) -> dict[str, Any]:
    """The columns in their order: the first that does not fit gives the reason."""
    return {
        "id": found["id"],
        "name": text(found["name"]),
        "score": 0.0 if found["score"] == 0 else found["score"],
        "stars": found["stars"],
        "colour": found["colour"],
        "day": between(found["day"], FIRST_DAY, LAST_DAY),
        "seen": between(found["seen"], FIRST, LAST),
        "price": price(found["price"]),
        "items": [None if each is None else item(each) for each in found["items"]],
        "marks": marks(found["marks"]),
    }


def item(found: dict[str, Any]) -> dict[str, Any]:
    return {"text": text(found["text"]), "at": between(found["at"], FIRST_DAY, LAST_DAY), "by": found["by"]}


def marks(found: dict[str, bytes | None]) -> dict[str, Decimal | None]:
    named = {text(name): each for name, each in sorted(found.items())}
    return {str(name): None if each is None else price(each) for name, each in named.items()}


def text(found: str | None) -> str | None:
    if found is not None and NOT_UTF8.search(found):
        raise Wrong("NOT_UTF8")
    return found


def between(found: int, first: int, last: int) -> int:
    if not first <= found <= last:
        raise Wrong("WRONG_TYPE")
    return found


def price(found: bytes) -> Decimal:
    cents = Decimal(int.from_bytes(found, signed=True)).scaleb(-2)
    if abs(cents) >= 10**6:
        raise Wrong("WRONG_TYPE")
    return cents
