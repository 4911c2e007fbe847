"""Spark's SQL says of Debezium's values and orders what the references in plain Python say."""

import base64
import json
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import zip_longest
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from common.debezium.conversions import Carrier, Conversion, How, Unit, array, decimal, mapping, plain, struct
from common.debezium.order import ORDER_FIELDS, Order, barrier_sql, is_newer, newer_sql, placed, settled
from common.debezium.reference import convert
from common.debezium.rejection import Rejected
from common.debezium.special_values import SpecialValues
from common.debezium.sql_conversions import unfit_sql, value_sql, wire_type
from common.debezium.sql_values import FLAT
from common.debezium.types import column_type
from tests.support.debezium import messages, schema_at

WRONG = "wrong"
EDGES = {
    How.DECIMAL: [0, 1, -1, 127, 128, -128, -129, 10**18, -(10**18), 10**37, -(10**38) + 1, 10**38, 12345, 12300],
    How.UNSIGNED: [0, 1, -1, 2**63 - 1, -(2**63)],
    How.DAYS: [0, -1, 20512, -719162, 2932896, -719163, 2932897, -2147472692, -2147472691, 2**31 - 1],
    How.EPOCH: [
        *(0, -1, 1, 1774751400123456, 253402300799999999, 253402300800000000, -62135596800000000, -62135596800000001),
        *(9223372036825200000, -9223372036832400000, 2**63 - 1, -(2**63), 1774751400123, 1774751400123456000),
    ],
    How.TIME: [0, 86399999999, 86400000000, -86399999999, 1, 1000, 3020399000000],
}
TEXTS = {
    How.DECIMAL_TEXT: [
        "0",
        "-0",
        "1.5",
        "-1.50",
        "+3",
        "999.99",
        "1000",
        "0.001",
        "0.010",
        "NaN",
        "Infinity",
        "-Infinity",
        "POSITIVE_INFINITY",
        "1e2",
        "",
        "x",
        ".5",
        "5.",
        "1_0",
    ],
    How.DATE_TEXT: [
        "2026-02-28Z",
        "2026-02-28",
        "2026-02-30Z",
        "0001-01-01Z",
        "9999-12-31Z",
        "10000-01-01Z",
        "+10000-01-01Z",
        "-0043-03-15Z",
        "0000-01-01Z",
        "2024-02-29+02:00",
        "",
        "x",
        "+2026-01-01",
    ],
    How.TIMESTAMP_TEXT: [
        "2026-03-28T23:30:00.123456Z",
        "2026-03-28T23:30:00Z",
        "2026-03-28T23:30Z",
        "infinity",
        "-infinity",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+02:00",
        "9999-12-31T23:59:59.999999Z",
        "9999-12-31T23:59:59-01:00",
        "2026-03-28T23:30:00.123456789Z",
        "2026-03-28T23:30:00.123456000Z",
        "2026-03-28T24:00:00Z",
        "2026-03-28T23:60:00Z",
        "+12026-03-28T23:30:00Z",
        "-0043-03-15T00:00:00Z",
        "2026-03-28T23:30:00",
        "2026-03-28",
        "",
        "2026-03-28T23:30:00+05:30",
    ],
    How.TIME_TEXT: [
        "23:59:59.999999Z",
        "00:00:00Z",
        "24:00:00",
        "10:15",
        "10:15:30.5",
        "10:15:30.1234567",
        "1:2:3",
        "",
        "10:60",
    ],
}


def in_two_complement(number: int) -> bytes:
    """As Java's BigInteger writes it: in as few bytes as possible."""
    return number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)


def as_json(value: Any) -> Any:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def flat_cases() -> list[tuple[Conversion, Any]]:
    bytes_of = [in_two_complement(number) for number in EDGES[How.DECIMAL]]
    decimals = [decimal(20, 4), decimal(12, 2), decimal(38, 0), decimal(3, -2), decimal(38, 38), decimal(18, 18)]
    decimals += [Conversion(How.DECIMAL, "string", scale=scale) for scale in (-2, 0, 2, 20)]
    decimals += [Conversion(How.DECIMAL, "decimal(12,1)", scale=2), Conversion(How.DECIMAL, "decimal(38,1)", scale=3)]
    cases: list[tuple[Conversion, Any]] = [(each, raw) for each in decimals for raw in bytes_of]
    for delta in ("decimal(38,18)", "decimal(5,2)", "string"):
        scaled = Conversion(How.SCALED_DECIMAL, delta)
        cases += [(scaled, {"scale": scale, "value": raw}) for raw in bytes_of for scale in (0, 2, 18, 20)]
    cases += [(Conversion(How.UNSIGNED, "decimal(20,0)"), raw) for raw in EDGES[How.UNSIGNED]]
    cases += [(Conversion(How.DAYS, "date"), raw) for raw in EDGES[How.DAYS]]
    for unit in Unit:
        for delta in ("timestamp_ntz", "timestamp"):
            cases += [(Conversion(How.EPOCH, delta, unit=unit), raw) for raw in EDGES[How.EPOCH]]
        cases += [(Conversion(How.TIME, "bigint", unit=unit), raw) for raw in EDGES[How.TIME]]
    for delta in ("decimal(5,2)", "decimal(20,4)"):
        cases += [(Conversion(How.DECIMAL_TEXT, delta), raw) for raw in TEXTS[How.DECIMAL_TEXT]]
    for delta in ("timestamp_ntz", "timestamp"):
        cases += [(Conversion(How.TIMESTAMP_TEXT, delta), raw) for raw in TEXTS[How.TIMESTAMP_TEXT]]
    cases += [(Conversion(How.DATE_TEXT, "date"), raw) for raw in TEXTS[How.DATE_TEXT]]
    cases += [(Conversion(How.TIME_TEXT, "bigint"), raw) for raw in TEXTS[How.TIME_TEXT]]
    cases += [(Conversion(How.BINARY, "binary"), raw) for raw in (b"", b"\x00\xff\x10")]
    cases += [(Conversion(How.FLOAT, "double"), raw) for raw in (1.5, -0.0)]
    return [*cases, (plain("string"), ""), (plain("boolean"), False)]


def nested_cases() -> list[tuple[Conversion, Any]]:
    days = Conversion(How.DAYS, "date")
    point = struct((("x", Conversion(How.FLOAT, "double")), ("wkb", Conversion(How.BINARY, "binary")), ("at", days)))
    return [
        (array(plain("string")), ["a", None]),
        (array(plain("string")), []),
        (array(plain("string")), ["[Ljava.lang.String;@3449338c"]),
        (array(days), [0, None, 20512]),
        (array(days), [0, -2147472692]),
        (array(decimal(12, 2)), [b"\x04\x1a", None]),
        (mapping(plain("string"), plain("string")), {"a": None, "b": "1"}),
        (mapping(plain("string"), days), {"a": 1, "b": -2147472692}),
        (point, {"x": 1.5, "wkb": b"\x00", "at": 1}),
        (point, {"x": None, "wkb": None, "at": 2932897}),
        (array(point), [{"x": 1.5, "wkb": b"\x00", "at": 1}, None]),
    ]


def expected_of(conversion: Conversion, raw: Any, carrier: Carrier, special: SpecialValues) -> Any:
    try:
        return convert(conversion, raw, carrier, special)
    except Rejected:
        return WRONG


def wire_value(conversion: Conversion, raw: Any, carrier: Carrier) -> Any:
    """The value as a message of this format has it."""
    if isinstance(raw, dict) and conversion.how in {How.STRUCT, How.SCALED_DECIMAL}:
        return {name: as_json(each) if carrier is Carrier.JSON else each for name, each in raw.items()}
    if isinstance(raw, list):
        ((_, element),) = conversion.parts
        return [wire_value(element, each, carrier) for each in raw]
    return as_json(raw) if carrier is Carrier.JSON else raw


def as_plain(value: Any) -> Any:
    """What Spark has collected, as the reference says it."""
    if isinstance(value, Row):
        return {name: as_plain(each) for name, each in value.asDict().items()}
    if isinstance(value, dict):
        return {name: as_plain(each) for name, each in value.items()}
    if isinstance(value, list):
        return [as_plain(each) for each in value]
    if isinstance(value, bytearray):
        return bytes(value)
    return value


def converted(
    spark: SparkSession, cases: list[tuple[Conversion, Any]], carrier: Carrier, special: SpecialValues
) -> list[Any]:
    """Convert all cases in one query: each conversion has a column, with its values below one another."""
    columns: dict[Conversion, list[Any]] = {}
    places = []
    for conversion, raw in cases:
        column = columns.setdefault(conversion, [])
        column.append(raw)
        places.append((list(columns).index(conversion), len(column) - 1))
    selections = []
    for number, conversion in enumerate(columns):
        result = timestamps_as_text(conversion, value_sql(conversion, f"c{number}", carrier, special))
        unfit = unfit_sql(conversion, f"c{number}", carrier, special)
        selections += [f"{result} AS v{number}", f"{unfit} AS u{number}"]
    schema = ",".join(f"c{number} {wire_type(each, carrier)}" for number, each in enumerate(columns))
    rows = spark.createDataFrame(list(zip_longest(*columns.values())), schema).coalesce(1)
    got = rows.selectExpr(*selections).collect()
    return [WRONG if got[row][f"u{column}"] else as_plain(got[row][f"v{column}"]) for column, row in places]


def timestamps_as_text(conversion: Conversion, result: str) -> str:
    """Python would shift the first and the last timestamps out of its years."""
    return f"CAST({result} AS STRING)" if conversion.delta.startswith("timestamp") else result


def comparable(value: Any) -> Any:
    if isinstance(value, datetime):
        text = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        fraction = f".{text.microsecond:06d}".rstrip("0").rstrip(".") if text.microsecond else ""
        return f"{text.year:04d}-{text.month:02d}-{text.day:02d} {text:%H:%M:%S}{fraction}"
    return value


@pytest.mark.parametrize("special", SpecialValues)
@pytest.mark.parametrize("carrier", Carrier)
def test_sql_and_reference_convert_alike(spark: SparkSession, carrier: Carrier, special: SpecialValues) -> None:
    cases = [(each, wire_value(each, raw, carrier)) for each, raw in flat_cases() + nested_cases()]
    cases += [(conversion, None) for conversion, _ in cases]
    differences = []
    for (conversion, raw), got in zip(cases, converted(spark, cases, carrier, special), strict=True):
        expected = comparable(expected_of(conversion, raw, carrier, special))
        if (got, type(got)) != (expected, type(expected)):
            differences.append(
                f"{conversion.how} {conversion.delta} {conversion.scale} of {raw!r}: {got!r}, not {expected!r}"
            )
    assert not differences, "\n".join(differences)


def test_every_conversion_has_its_sql() -> None:
    assert set(How) == set(FLAT) | {How.ARRAY, How.MAP, How.ENTRIES, How.STRUCT}


@pytest.mark.parametrize("topic", ["cdc.public.everything", "cdc.public.customers", "mdb.shop.everything"])
def test_recorded_rows_are_converted_alike_from_their_json(spark: SparkSession, topic: str) -> None:
    schema = schema_at(topic, 0)
    types = {column.name: column_type(column).conversion for column in schema.columns}
    rows = [each.payload["after"] for each in messages(topic) if each.payload and each.payload.get("after")]
    texts = spark.createDataFrame([(json.dumps(row),) for row in rows], "text string")
    wire = ",".join(f"{name} {wire_type(conversion, Carrier.JSON)}" for name, conversion in types.items())
    parsed = texts.selectExpr(f"from_json(text, '{wire}') AS row")
    selections = []
    for name, each in types.items():
        value = f"row.{name}"
        result = timestamps_as_text(each, value_sql(each, value, Carrier.JSON))
        selections += [f"{result} AS {name}", f"{unfit_sql(each, value, Carrier.JSON)} AS unfit_{name}"]
    for row, got in zip(rows, parsed.selectExpr(*selections).collect(), strict=True):
        for name, conversion in types.items():
            value = WRONG if got[f"unfit_{name}"] else as_plain(got[name])
            assert value == comparable(expected_of(conversion, row[name], Carrier.JSON, SpecialValues.QUARANTINE)), name


@pytest.mark.parametrize(
    ("carrier", "wire", "message"),
    [
        (Carrier.JSON, [["1", "0.5"], ["3", "2.0"]], [[1, 0.5], [3, 2.0]]),
        (Carrier.AVRO, [(1, 0.5), (3, 2.0)], [{"key": 1, "value": 0.5}, {"key": 3, "value": 2.0}]),
    ],
)
def test_a_map_with_numbers_as_keys_is_converted_alike(
    spark: SparkSession, carrier: Carrier, wire: Any, message: Any
) -> None:
    conversion = mapping(plain("smallint"), Conversion(How.FLOAT, "double"))
    assert converted(spark, [(conversion, wire)], carrier, SpecialValues.NULL) == [
        convert(conversion, message, carrier)
    ]


def random_order(chance: random.Random) -> Order:
    offset = chance.randint(0, 6)
    if chance.random() < 0.3:
        return placed(Order("t", 0, offset))
    barrier = chance.randint(-1, offset)
    return Order("t", 0, offset, chance.choice("ab"), chance.randint(0, 2), chance.randint(0, 2), barrier)


def test_sql_and_reference_order_alike(spark: SparkSession) -> None:
    chance = random.Random(1)
    pairs = [(random_order(chance), random_order(chance)) for _ in range(2000)]
    fields = ["offset", *ORDER_FIELDS]
    kind = "struct<offset:bigint," + ",".join(f"{name}:{each}" for name, each in ORDER_FIELDS.items()) + ">"
    rows = [tuple(tuple(getattr(each, name) for name in fields) for each in pair) for pair in pairs]
    frame = spark.createDataFrame(rows, f"e {kind}, r {kind}")
    got = frame.selectExpr(f"{newer_sql('e', 'r')} AS newer", f"{barrier_sql('e', 'r')} AS barrier").collect()
    for (event, row), answer in zip(pairs, got, strict=True):
        assert answer.newer == (event.offset != row.offset and is_newer(event, row)) or event.offset == row.offset
        assert answer.barrier == settled(event, row).barrier


def test_the_reference_knows_these_dates() -> None:
    assert convert(Conversion(How.DAYS, "date"), 20512, Carrier.JSON) == date(2026, 2, 28)
    assert convert(decimal(12, 2), "BBo=", Carrier.JSON) == Decimal("10.50")
