"""Avro by the writer's schema, on literal rows: what becomes an event, and why the rest does not."""

import uuid
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from common.errors import ConfigurationError
from common.registry.client import Client
from common.registry.subject import Registered, Subject
from common.settings.pipeline import Pipeline
from common.spark.classify import classify
from common.spark.decode.avro import AvroDecoder
from common.spark.decode.avro_reader import Reader
from common.spark.decode.avro_writers import Writers
from common.spark.source import as_records
from tests.support.avro import datum, field, framed, logical, message, record
from tests.support.records import records

pytestmark = pytest.mark.usefixtures("compiled")

V1 = record(field("id", "int"), field("title", "string"), field("score", "float"), field("gone", "string"))
V2 = record(
    field("id", "long"),
    field("name", ["null", "string"], aliases=["title"], default=None),
    field("score", "double"),
    field("stars", "int", default=3),
)
COLUMNS = {"id": "bigint", "name": "string", "score": "double", "stars": "int"}
READABLE, OLD, REFUSED, FOREIGN, UNKNOWN = 2, 1, 3, 4, 5
NEXT = message(READABLE, V2, {"id": 1, "name": "a", "score": 1.5, "stars": 5})


def registered(number: int, text: str, kind: str = "AVRO", *, has_references: bool = False) -> Registered:
    return Registered(number, text, kind, has_references)


def decoder(
    spark: SparkSession,
    reader: str = V2,
    columns: dict[str, str] = COLUMNS,
    writers: dict[int, str] | None = None,
    foreign: list[int] | None = None,
) -> AvroDecoder:
    """Without a registry: what it would say is given."""
    nobody = Subject(Client("http://127.0.0.1:9", 0), "events-value")
    known = Writers(nobody, Reader.of(spark, registered(READABLE, reader), columns, "the latest version"))
    for number, text in (writers or {READABLE: reader, OLD: V1}).items():
        known.learn(registered(number, text))
    return AvroDecoder(columns, 200, known, foreign)


def pipeline(columns: dict[str, str] = COLUMNS, **source: Any) -> Pipeline:
    registry = {"url": "http://127.0.0.1:9", "subject": "events-value"}
    return Pipeline.model_validate(
        {
            "name": "avro",
            "source": {"topic": "t", "format": "avro", "registry": registry, "columns": columns, **source},
            "target": {"keys": [next(iter(columns))]},
        }
    )


def judged(spark: SparkSession, by: AvroDecoder, *values: bytes | None, **source: Any) -> list[Any]:
    declared = pipeline(by.columns, max_record_bytes=by.max_bytes, **source)
    found = classify(as_records(records(spark, *values)), declared, by)
    return found.orderBy("_record.offset").select("_reason", "_message", "_disposition", *by.columns).collect()


def test_27_each_record_is_read_by_its_own_schema(spark: SparkSession) -> None:
    """Added with a default, removed, widened, renamed by an alias."""
    old = message(OLD, V1, {"id": 7, "title": "b", "score": 0.5, "gone": "x"})
    nothing = message(READABLE, V2, {"id": 8, "name": None, "score": -0.0, "stars": 0})
    found = judged(spark, decoder(spark), NEXT, old, nothing)
    assert [tuple(row)[3:] for row in found] == [(1, "a", 1.5, 5), (7, "b", 0.5, 3), (8, None, 0.0, 0)]
    assert [row["_reason"] for row in found] == [None, None, None]
    assert str(found[2]["score"]) == "0.0"


OTHER = record(field("id", "string"))
BROKEN: list[tuple[bytes | None, str, str]] = [
    (None, "NULL_VALUE", "the record has no value"),
    (NEXT + bytes(200), "OVERSIZED", f"{len(NEXT) + 200} bytes, 200 allowed"),
    (b"", "NO_HEADER", "0 bytes, too few for the id of a schema"),
    (NEXT[:4], "NO_HEADER", "4 bytes, too few for the id of a schema"),
    (b"{" + NEXT[1:], "BAD_MAGIC", "the first byte is 7B"),
    (message(REFUSED, OTHER, {"id": "x"}), "UNREADABLE_SCHEMA", "schema 3 reader type: LONG not compatible with"),
    (framed(FOREIGN, NEXT[5:]), "WRONG_SUBJECT", "schema 4 is no version of subject events-value"),
    (framed(UNKNOWN, NEXT[5:]), "UNKNOWN_SCHEMA", "schema 5: the registry has no such schema"),
    (framed(2**32 - 1, NEXT[5:]), "UNKNOWN_SCHEMA", "schema 4294967295: the registry has no such schema"),
    (NEXT[:5], "NOT_AVRO", "schema 2: the bytes are no whole record of it"),
    (NEXT[:-1], "NOT_AVRO", "schema 2: the bytes are no whole record of it"),
    (framed(READABLE, b"\x02\x04" + NEXT[7:]), "NOT_AVRO", "schema 2: the bytes are no whole record of it"),
    (framed(READABLE, b"\xff" * 12), "NOT_AVRO", "schema 2: the bytes are no whole record of it"),
    (NEXT + b"\x00", "TRAILING_BYTES", "schema 2: bytes are left over after the record"),
    (NEXT + NEXT, "TRAILING_BYTES", "schema 2: bytes are left over after the record"),
    (framed(READABLE, b"\x02\x02\x02\xff" + NEXT[9:]), "NOT_UTF8", "name: the text is not UTF-8"),
]


def test_25_whatever_is_no_event_has_its_reason(spark: SparkSession) -> None:
    by = decoder(spark, writers={READABLE: V2, REFUSED: OTHER}, foreign=[FOREIGN])
    found = judged(spark, by, *(value for value, _, _ in BROKEN), NEXT)
    assert [row["_reason"] for row in found] == [*(reason for _, reason, _ in BROKEN), None]
    for row, (_, _, words) in zip(found, BROKEN, strict=False):
        assert row["_message"].startswith(words)
    assert {row["_disposition"] for row in found[:-1]} == {"quarantined"}
    assert found[-1]["_disposition"] == "merge"


def test_25_every_cut_and_every_tail_comes_to_light(spark: SparkSession) -> None:
    """Also where the writer's schema ends with fields that the reader skips, or with none at all."""
    by = decoder(spark)
    old = message(OLD, V1, {"id": 7, "title": "title", "score": 0.5, "gone": "something"})
    cuts = [value[:length] for value in (NEXT, old) for length in range(5, len(value))]
    tails = [value + bytes([byte]) * count for value in (NEXT, old) for byte in (0, 2, 255) for count in range(1, 20)]
    found = judged(spark, by, *cuts, *tails, NEXT, old)
    assert {row["_reason"] for row in found[: len(cuts)]} == {"NOT_AVRO"}
    assert {row["_reason"] for row in found[len(cuts) : -2]} == {"TRAILING_BYTES"}
    assert [row["_reason"] for row in found[-2:]] == [None, None]


def test_25_a_length_that_is_only_claimed_takes_no_memory(spark: SparkSession) -> None:
    """Two billion bytes for a text would end the JVM, not the record: conf/local.conf says how many it may be."""
    length = datum('"long"', 2_000_000_000)
    found = judged(spark, decoder(spark), framed(READABLE, b"\x02\x02" + length + b"abc"), NEXT)
    assert [row["_reason"] for row in found] == ["NOT_AVRO", None]


def test_a_record_without_a_value_may_be_skipped(spark: SparkSession) -> None:
    found = judged(spark, decoder(spark), None, NEXT, null_value="skip")
    assert [row["_disposition"] for row in found] == ["null", "merge"]


def test_a_schema_that_nobody_has_asked_for_is_told_apart(spark: SparkSession) -> None:
    by = decoder(spark)
    found = judged(spark, by, framed(UNKNOWN, b""), NEXT)
    assert [row["_reason"] for row in found] == ["UNSEEN_SCHEMA", None]
    assert by.with_schemas_seen_in(lambda: classify(as_records(records(spark, NEXT, None)), pipeline(), by)) is None


NOTE = {
    "type": "record",
    "name": "Note",
    "fields": [
        field("text", "string"),
        field("by", ["null", "long"], default=None),
        field("price", logical("bytes", "decimal", precision=6, scale=2)),
    ],
}
# One record type in two places, of which each column asks for other fields.
KINDS = {
    "s": ("string", "string", "x", "x"),
    "e": ("string", {"type": "enum", "name": "Colour", "symbols": ["red", "blue"]}, "blue", "blue"),
    "u": ("string", logical("string", "uuid"), str(uuid.UUID(int=7)), str(uuid.UUID(int=7))),
    "b": ("boolean", "boolean", True, True),
    "i": ("int", "int", -5, -5),
    "l": ("bigint", "long", 2**40, 2**40),
    "il": ("bigint", "int", 5, 5),
    "f": ("float", "float", 0.5, 0.5),
    "d": ("double", "double", 1e300, 1e300),
    "day": ("date", logical("int", "date"), date(2023, 1, 5), date(2023, 1, 5)),
    "ms": (
        "timestamp",
        logical("long", "timestamp-millis"),
        datetime(2023, 1, 5, 1, 2, 3, 4000, UTC),
        datetime(2023, 1, 5, 1, 2, 3, 4000, UTC).replace(tzinfo=None),
    ),
    "us": (
        "timestamp",
        logical("long", "timestamp-micros"),
        datetime(1066, 1, 5, 1, 2, 3, 4, UTC),
        datetime(1066, 1, 5, 1, 2, 3, 4, UTC).replace(tzinfo=None),
    ),
    "p": ("decimal(10,2)", logical("bytes", "decimal", precision=6, scale=2), Decimal("-12.34"), Decimal("-12.34")),
    "q": (
        "decimal(10,4)",
        logical("fixed", "decimal", name="Money", size=6, precision=5, scale=2),
        Decimal("999.99"),
        Decimal("999.9900"),
    ),
    "al": ("array<bigint>", {"type": "array", "items": ["null", "int"]}, [1, None, -3], [1, None, -3]),
    "me": (
        "map<string,array<string>>",
        {"type": "map", "values": {"type": "array", "items": "string"}},
        {"k": ["é"], "": []},
        {"k": ["é"], "": []},
    ),
    "st": ("struct<text:string,by:bigint>", NOTE, {"text": "t", "by": 5, "price": Decimal("1.50")}, ("t", 5)),
    "as": (
        "array<struct<price:decimal(10,4)>>",
        {"type": "array", "items": "Note"},
        [{"text": "t", "by": None, "price": Decimal("1.50")}],
        [(Decimal("1.5000"),)],
    ),
}


def test_every_kind_of_column(spark: SparkSession) -> None:
    schema = record(*(field(name, kind) for name, (_, kind, _, _) in KINDS.items()))
    nullable = record(*(field(name, ["null", kind]) for name, (_, kind, _, _) in KINDS.items()))
    columns = {name: kind for name, (kind, _, _, _) in KINDS.items()}
    values = {name: value for name, (_, _, value, _) in KINDS.items()}
    by = decoder(spark, nullable, columns, {READABLE: nullable, OLD: schema})
    nulls = {**dict.fromkeys(KINDS), "s": "y"}
    found = judged(
        spark, by, message(OLD, schema, values), message(READABLE, nullable, values), message(READABLE, nullable, nulls)
    )
    assert [row["_reason"] for row in found] == [None, None, None]
    expected = tuple(value for _, _, _, value in KINDS.values())
    assert [tuple(row)[3:] for row in found] == [expected, expected, tuple(nulls.values())]


def test_values_that_a_column_cannot_hold_are_refused_not_bent(spark: SparkSession) -> None:
    """Years of five digits; a decimal of more digits than it declares, of which Spark would keep the last 64 bits."""
    schema = record(
        field("id", "int"),
        field("day", logical("int", "date")),
        field("at", logical("long", "timestamp-micros")),
        field("price", logical("bytes", "decimal", precision=4, scale=2)),
    )
    columns = {"id": "int", "day": "date", "at": "timestamp", "price": "decimal(4,2)"}
    plain = record(field("id", "int"), field("day", "int"), field("at", "long"), field("price", "bytes"))
    by = decoder(spark, schema, columns, {READABLE: schema})
    wrapped = (2**64 + 7).to_bytes(9)
    rows = [
        {"id": 1, "day": 0, "at": 0, "price": b"\x07"},
        {"id": 2, "day": 3_000_000, "at": 0, "price": b"\x07"},
        {"id": 3, "day": 0, "at": 2**60, "price": b"\x07"},
        {"id": 4, "day": 0, "at": 0, "price": (10_000).to_bytes(2)},
        {"id": 5, "day": 0, "at": 0, "price": wrapped},
    ]
    found = judged(spark, by, *(framed(READABLE, datum(plain, row)) for row in rows))
    assert [row["_reason"] for row in found] == [None, *["WRONG_TYPE"] * 4]
    assert found[0]["price"] == Decimal("0.07")


INSIDE = {
    "id": "int",
    "days": "array<date>",
    "prices": "map<string,decimal(4,2)>",
    "notes": "array<struct<text:string,at:timestamp>>",
}


def inside(*, plain: bool) -> str:
    """Days, prices and times inside of others; plain, as numbers and bytes."""
    day = "int" if plain else logical("int", "date")
    price = "bytes" if plain else logical("bytes", "decimal", precision=4, scale=2)
    at = "long" if plain else logical("long", "timestamp-micros")
    note = {"type": "record", "name": "Note", "fields": [field("text", "string"), field("at", at)]}
    return record(
        field("id", "int"),
        field("days", {"type": "array", "items": day}),
        field("prices", {"type": "map", "values": price}),
        field("notes", {"type": "array", "items": note}),
    )


def test_values_inside_of_others_are_judged_like_columns(spark: SparkSession) -> None:
    """And the message says where."""
    by = decoder(spark, inside(plain=False), INSIDE, {READABLE: inside(plain=False)})
    sound = {"id": 1, "days": [0], "prices": {"k": b"\x07"}, "notes": [{"text": "é", "at": 0}]}
    note = {"text": "x", "at": 2**60}
    rows = [sound, sound | {"days": [0, 3_000_000]}, sound | {"prices": {"k": b"\x7f" * 3}}, sound | {"notes": [note]}]
    values = [framed(READABLE, datum(inside(plain=True), row)) for row in rows]
    broken = values[0].replace("é".encode(), b"\xff\xfe"), values[0].replace(b"\x02k", b"\x02\xff")
    found = judged(spark, by, *values, *broken)
    assert [(row["_reason"], row["_message"] and row["_message"].partition(", not")[0]) for row in found] == [
        (None, None),
        ("WRONG_TYPE", "days[1]: date is wanted"),
        ("WRONG_TYPE", "prices['k']: decimal(4,2) is wanted"),
        ("WRONG_TYPE", "notes[0].at: timestamp is wanted"),
        ("NOT_UTF8", "notes[0].text: the text is not UTF-8"),
        ("NOT_UTF8", "prices: a key is not UTF-8"),
    ]
    assert found[0]["prices"] == {"k": Decimal("0.07")}


def test_entries_that_are_only_claimed_take_no_memory(spark: SparkSession) -> None:
    """Room for all that an array claims is made at once: conf/local.conf says how many it may be."""
    schema = record(field("id", "int"), field("a", {"type": "array", "items": "int"}))
    by = decoder(spark, schema, {"id": "int", "a": "array<int>"}, {READABLE: schema})
    claimed = framed(READABLE, b"\x02" + datum('"long"', 2_000_000_000) + b"abc")
    found = judged(spark, by, claimed, message(READABLE, schema, {"id": 1, "a": list(range(50))}))
    assert [row["_reason"] for row in found] == ["NOT_AVRO", None]


def refusal(spark: SparkSession, writer: str, reader: str = V2, columns: dict[str, str] = COLUMNS) -> str | None:
    return Reader.of(spark, registered(READABLE, reader), columns, "it").refusal(registered(9, writer))


def listed(kind: Any) -> str:
    return record(field("a", {"type": "array", "items": kind}))


def noted(kind: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Note", "fields": [field("at", ["null", kind])]}


MILLIS = record(field("at", logical("long", "timestamp-millis")))
CENTS = record(field("p", logical("bytes", "decimal", precision=6, scale=2)))
RECURSIVE = record(field("id", "int"), field("next", ["null", "Event"], default=None))


@pytest.mark.parametrize(
    ("writer", "reader", "columns", "words"),
    [
        (record(field("at", logical("long", "timestamp-micros"))), MILLIS, {"at": "timestamp"}, "timestamp-micros in"),
        (record(field("at", "long")), MILLIS, {"at": "timestamp"}, "has long in 'at', timestamp-millis is wanted"),
        (
            record(field("p", logical("bytes", "decimal", precision=6, scale=3))),
            CENTS,
            {"p": "decimal(6,2)"},
            r"has decimal\(6,3\) in 'p'",
        ),
        (record(field("id", "int")), record(field("id", "int"), field("n", "int")), {"n": "int"}, "READER_FIELD|n at"),
        (record(field("id", ["null", "int"])), record(field("id", "int")), {"id": "int"}, "not compatible"),
        (RECURSIVE, record(field("id", "int")), {"id": "int"}, "contains itself"),
        ("not a schema", record(field("id", "int")), {"id": "int"}, "is not usable"),
        (
            listed("long"),
            listed(logical("long", "timestamp-millis")),
            {"a": "array<timestamp>"},
            "has long in 'a\\[\\]'",
        ),
        (
            record(field("s", noted("string"))),
            record(field("s", noted(logical("int", "date")))),
            {"s": "struct<at:date>"},
            "lacking writer type",
        ),
        (
            record(field("s", {"type": "map", "values": noted("int")})),
            record(field("s", {"type": "map", "values": noted(logical("int", "date"))})),
            {"s": "map<string,struct<at:date>>"},
            "has int in 's\\[\\].at', date is wanted",
        ),
    ],
    ids=[
        "micros for millis",
        "long for millis",
        "scale",
        "no default",
        "null",
        "recursive",
        "rubbish",
        "inside of an array",
        "inside of a record",
        "inside of both",
    ],
)
def test_27_a_schema_that_reads_otherwise_is_refused_whole(
    spark: SparkSession, writer: str, reader: str, columns: dict[str, str], words: str
) -> None:
    """Avro itself takes two longs for the same, whatever they count."""
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(refusal(spark, writer, reader, columns))


def test_27_what_nobody_declared_may_come_and_go(spark: SparkSession) -> None:
    reader = record(field("id", "int"), field("extra", {"type": "map", "values": "Event"}))
    assert refusal(spark, record(field("id", "int")), reader, {"id": "bigint"}) is None
    assert refusal(spark, record(field("id", "int"), field("extra", "string")), reader, {"id": "bigint"}) is None


@pytest.mark.parametrize(
    ("schema", "columns", "words"),
    [
        (V2, {"ident": "bigint"}, "source.columns.ident: the latest version has no such field; it has: id, name"),
        (V2, {"id": "int"}, "source.columns.id: int is declared, and the latest version has long"),
        (V2, {"id": "timestamp"}, "timestamp is declared, and the latest version has long"),
        (CENTS, {"p": "decimal(5,2)"}, r"decimal\(5,2\) is declared, and the latest version has decimal\(6,2\)"),
        (record(field("x", ["int", "string"])), {"x": "string"}, "has union of int, string"),
        ('"string"', {"x": "string"}, "the latest version is no record"),
        ("{", {"x": "string"}, "the latest version is no Avro schema"),
        (listed("int"), {"a": "array<string>"}, "array<string> is declared, and the latest version has array of int"),
        (listed(["int", "string"]), {"a": "array<int>"}, "has array of union of int, string"),
        (record(field("s", noted("int"))), {"s": "struct<x:int>"}, "has record of at"),
        (record(field("s", noted("int"))), {"s": "map<string,int>"}, "has record of at"),
        (RECURSIVE, {"next": "struct<id:int>"}, "source.columns.next: in the latest version a record contains itself"),
    ],
)
def test_a_column_that_the_schema_does_not_have_is_an_error_at_the_start(
    spark: SparkSession, schema: str, columns: dict[str, str], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        decoder(spark, schema, columns)
