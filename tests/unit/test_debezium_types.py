"""Types of a source: what each becomes, and every recorded value converted by the reference."""

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.debezium.catalog import Modes, left_out, postgresql_column
from common.debezium.conversions import MEANINGS, Carrier, Conversion, How, Unit, decimal
from common.debezium.envelope import header_key
from common.debezium.reference import FLAT, NESTED, TEMPORAL, convert, convert_header
from common.debezium.rejection import Reason, Rejected
from common.debezium.source_schema import (
    SOURCE_LENGTH,
    SOURCE_SCALE,
    SOURCE_TYPE,
    ConnectType,
    SourceColumn,
    SourceSchema,
    array_of,
    map_of,
)
from common.debezium.special_values import SpecialValues
from common.debezium.temporal import day_number
from common.debezium.type_document import DOCUMENT, document
from common.debezium.type_rules import CONNECT, DEBEZIUM_DATA, DEBEZIUM_TIME, literal
from common.debezium.types import column_type, known_rules
from common.errors import ConfigurationError
from tests.support.commands import ROOT
from tests.support.debezium import message, schema_at

EVERYTHING, TEXTS, MARIADB = "cdc.public.everything", "cdcs.public.everything", "mdb.shop.everything"
BASE_ROW = {
    "amount": Decimal("12345678901234.5678"),
    "any_number": Decimal("3.141592653589793238"),
    "at_tz": datetime(2026, 3, 28, 23, 30, 0, 123456, UTC),
    "at_local": datetime(2026, 3, 29, 2, 30, 0, 123456),  # noqa: DTZ001
    "day": date(2026, 2, 28),
    "tod": 86399999999,
    "uid": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "doc": '{"a": {"ä": "ü"}, "b": [1, 2.50, null]}',
    "tags": ["one", "two, with comma", None],
    "raw": b"\x00\xff\x10",
    "feeling": "glad",
    "ok": True,
    "lasting": 37091106789000,
    "price": Decimal("-1234.56"),
    "addr": "192.168.0.1/24",
    "small": 1,
}
TEXT_TYPES = {
    "id": "bigint",
    "amount": "numeric(20,4)",
    "any_number": "numeric",
    "at_tz": "timestamp with time zone",
    "at_local": "timestamp without time zone",
    "day": "date",
    "tod": "time without time zone",
    "uid": "uuid",
    "doc": "jsonb",
    "tags": "text[]",
    "raw": "bytea",
    "feeling": "mood",
    "ok": "boolean",
    "lasting": "interval",
    "price": "money",
    "addr": "inet",
    "big": "text",
    "small": "integer",
}
ENUMS = {"mood": "calm,glad,sad"}
AS_TEXTS = Modes(decimals="string", times="isostring", intervals="string")


def catalog(modes: Modes | None = None) -> SourceSchema:
    """The schema of the recorded table, from the types of its columns in the database."""
    columns = [
        postgresql_column(name, kind, optional=name != "id", modes=modes, enums=ENUMS)
        for name, kind in TEXT_TYPES.items()
    ]
    return SourceSchema(tuple(columns), ("id",))


def converted(
    schema: SourceSchema,
    row: dict[str, Any],
    special: SpecialValues = SpecialValues.QUARANTINE,
    declared: dict[str, str] | None = None,
) -> dict[str, Any]:
    types = {column.name: column_type(column, (declared or {}).get(column.name)) for column in schema.columns}
    return {name: convert(types[name].conversion, row[name], Carrier.JSON, special) for name in row}


def value(name: str, connect: ConnectType, raw: Any, carrier: Carrier = Carrier.JSON, **options: Any) -> Any:
    return convert(column_type(SourceColumn(name, connect)).conversion, raw, carrier, **options)


def refused(conversion: Conversion, raw: Any, carrier: Carrier = Carrier.JSON) -> Rejected:
    with pytest.raises(Rejected) as caught:
        convert(conversion, raw, carrier)
    assert caught.value.reason is Reason.UNREPRESENTABLE
    return caught.value


def row_of(topic: str, offset: int, *left_out: str) -> dict[str, Any]:
    after = message(topic, offset).payload["after"]
    return {name: each for name, each in after.items() if name not in left_out}


def test_every_recorded_type_of_postgresql_becomes_its_delta_type() -> None:
    types = {column.name: column_type(column).delta for column in schema_at(EVERYTHING, 0).columns}
    assert types == {
        "id": "bigint",
        "amount": "decimal(20,4)",
        "any_number": "decimal(38,18)",
        "at_tz": "timestamp",
        "at_local": "timestamp_ntz",
        "day": "date",
        "tod": "bigint",
        "uid": "string",
        "doc": "string",
        "tags": "array<string>",
        "raw": "binary",
        "feeling": "string",
        "ok": "boolean",
        "lasting": "bigint",
        "price": "decimal(38,2)",
        "addr": "string",
        "big": "string",
        "small": "int",
    }


def test_every_recorded_type_of_mariadb_becomes_its_delta_type() -> None:
    types = {column.name: column_type(column).delta for column in schema_at(MARIADB, 0).columns}
    assert types == {
        "id": "bigint",
        "amount": "decimal(20,4)",
        "at_tz": "timestamp",
        "at_local": "timestamp_ntz",
        "day": "date",
        "tod": "bigint",
        "yr": "int",
        "uid": "string",
        "doc": "string",
        "raw": "binary",
        "feeling": "string",
        "tags": "string",
        "ok": "smallint",
        "flag": "boolean",
        "bits": "binary",
        "big": "string",
        "u": "bigint",
        "f": "float",
    }


def test_a_recorded_row_is_converted_exactly() -> None:
    row = row_of(EVERYTHING, 0, "id", "big", "any_number")
    expected = {name: each for name, each in BASE_ROW.items() if name != "any_number"}
    assert converted(schema_at(EVERYTHING, 0), row) == expected


def test_a_row_of_nulls_stays_one() -> None:
    assert set(converted(schema_at(EVERYTHING, 0), row_of(EVERYTHING, 1, "id")).values()) == {None}


def test_the_same_row_as_texts_is_the_same_row() -> None:
    declared = {"amount": "decimal(20,4)", "price": "decimal(38,2)"}
    row = row_of(TEXTS, 5, "id", "big", "any_number", "small", "lasting")
    expected = {name: each for name, each in BASE_ROW.items() if name in row}
    assert converted(catalog(AS_TEXTS), row, declared=declared) == expected


def test_a_recorded_row_of_mariadb_is_converted_exactly() -> None:
    assert converted(schema_at(MARIADB, 0), row_of(MARIADB, 0)) == {
        "id": 1,
        "amount": Decimal("12345678901234.5678"),
        "at_tz": datetime(2026, 3, 28, 23, 30, 0, 123456, UTC),
        "at_local": datetime(2026, 3, 29, 2, 30, 0, 123456),  # noqa: DTZ001
        "day": date(2026, 2, 28),
        "tod": -86399999999,
        "yr": 2026,
        "uid": "0f8fad5b-d9cb-469f-a165-70867728950e",
        "doc": '{"b": [1, 2.50, null], "a": "ü"}',
        "raw": b"\x00\xff\x10",
        "feeling": "glad",
        "tags": "a,c",
        "ok": 1,
        "flag": True,
        "bits": b"\x01\x02",
        "big": "long text",
        "u": -1,
        "f": 1.5,
    }


def test_debezium_20_a_numeric_without_scale_is_a_decimal_that_overflows_to_quarantine() -> None:
    column = schema_at(EVERYTHING, 0).column("any_number")
    assert column is not None
    raw = message(EVERYTHING, 0).payload["after"]["any_number"]
    refused(column_type(column).conversion, raw)  # 20 digits behind the point, and decimal(38,18) has 18
    assert convert(column_type(column, "decimal(38,20)").conversion, raw, Carrier.JSON) == Decimal(
        "3.14159265358979323846"
    )
    assert convert(column_type(column, "string").conversion, raw, Carrier.JSON) == "3.14159265358979323846"


@pytest.mark.parametrize("special", SpecialValues)
def test_debezium_20_a_number_that_is_too_long_is_turned_away_under_every_policy(special: SpecialValues) -> None:
    with pytest.raises(Rejected):
        convert(Conversion(How.DECIMAL_TEXT, "decimal(5,2)"), "1000", Carrier.JSON, special)


def test_debezium_20_it_never_becomes_a_double() -> None:
    column = schema_at(EVERYTHING, 0).column("any_number")
    assert column is not None
    with pytest.raises(ConfigurationError, match="cannot become double"):
        column_type(column, "double")


def test_debezium_21_nan_is_null_in_precise_mode_and_follows_the_policy_as_text() -> None:
    assert row_of(EVERYTHING, 4)["amount"] is None
    conversion = Conversion(How.DECIMAL_TEXT, "decimal(5,2)")
    for word in ("NaN", "Infinity", "-Infinity"):
        refused(conversion, word)
        assert convert(conversion, word, Carrier.JSON, SpecialValues.NULL) is None
    clamped = [
        convert(conversion, word, Carrier.JSON, SpecialValues.CLAMP) for word in ("NaN", "Infinity", "-Infinity")
    ]
    assert clamped == [None, Decimal("999.99"), Decimal("-999.99")]


def test_debezium_21_a_propagated_precision_makes_a_decimal_of_a_text() -> None:
    parameters = ((SOURCE_LENGTH, "12"), (SOURCE_SCALE, "2"), (SOURCE_TYPE, "NUMERIC"))
    column = column_type(SourceColumn("credit", ConnectType("string", parameters=parameters)))
    assert column.delta == "decimal(12,2)"
    assert convert(column.conversion, "10.50", Carrier.JSON) == Decimal("10.50")


@pytest.mark.parametrize(("name", "greatest"), [("at_tz", True), ("at_local", False), ("day", True)])
def test_debezium_22_infinities_follow_the_policy(name: str, greatest: bool) -> None:  # noqa: FBT001
    column = schema_at(EVERYTHING, 0).column(name)
    assert column is not None
    conversion, raw = column_type(column).conversion, row_of(EVERYTHING, 4)[name]
    refused(conversion, raw)
    assert convert(conversion, raw, Carrier.JSON, SpecialValues.NULL) is None
    clamped = convert(conversion, raw, Carrier.JSON, SpecialValues.CLAMP)
    assert (clamped.year == 9999) is greatest
    assert (clamped.year == 1) is not greatest


@pytest.mark.parametrize(("raw", "year"), [(2**63 - 1, 9999), (-(2**63), 1)])
def test_debezium_22_infinities_in_nanoseconds(raw: int, year: int) -> None:
    conversion = Conversion(How.EPOCH, "timestamp_ntz", unit=Unit.NANOSECONDS)
    refused(conversion, raw)
    assert convert(conversion, raw, Carrier.JSON, SpecialValues.CLAMP).year == year


def test_debezium_22_a_year_before_christ_has_no_form() -> None:
    conversion, raw = Conversion(How.DAYS, "date"), row_of(EVERYTHING, 5)["day"]
    assert raw == day_number(-43, 3, 15)
    refused(conversion, raw)
    assert convert(conversion, raw, Carrier.JSON, SpecialValues.CLAMP) == date.min


def test_debezium_22_the_widest_years_are_kept() -> None:
    row = converted(schema_at(EVERYTHING, 0), row_of(EVERYTHING, 5, "day", "tags", "any_number"))
    assert row["at_tz"] == datetime(1, 1, 1, tzinfo=UTC)
    assert row["at_local"] == datetime(9999, 12, 31, 23, 59, 59, 999999)  # noqa: DTZ001
    assert row["price"] == Decimal("92233720368547758.07")
    assert row["amount"] == Decimal("-9999999999999999.9999")


@pytest.mark.parametrize("name", ["Timestamp", "Time"])
def test_debezium_23_connects_own_times_are_refused_where_they_lose_microseconds(name: str) -> None:
    kind = "int64" if name == "Timestamp" else "int32"
    with pytest.raises(ConfigurationError, match=r"time\.precision\.mode=adaptive"):
        column_type(SourceColumn("at", ConnectType(kind, CONNECT + name)))
    coarse = ConnectType(kind, CONNECT + name, ((SOURCE_LENGTH, "3"),))
    assert column_type(SourceColumn("at", coarse)).delta in {"timestamp_ntz", "bigint"}
    declared = "timestamp_ntz" if name == "Timestamp" else "bigint"
    assert column_type(SourceColumn("at", ConnectType(kind, CONNECT + name)), declared).delta == declared


@pytest.mark.parametrize(
    ("times", "kind", "raw"),
    [
        ("adaptive", "timestamp(3)", 1774751400123),
        ("adaptive", "timestamp", 1774751400123000),
        ("adaptive_time_microseconds", "timestamp", 1774751400123000),
        ("microseconds", "timestamp(3)", 1774751400123000),
        ("nanoseconds", "timestamp", 1774751400123000000),
        ("isostring", "timestamp", "2026-03-29T02:30:00.123Z"),
    ],
)
def test_debezium_23_each_mode_gives_the_same_timestamp(times: str, kind: str, raw: Any) -> None:
    column = postgresql_column("at", kind, modes=Modes(times=times))
    expected = datetime(2026, 3, 29, 2, 30, 0, 123000)  # noqa: DTZ001
    assert convert(column_type(column).conversion, raw, Carrier.JSON) == expected


@pytest.mark.parametrize(
    ("times", "kind", "raw"),
    [
        ("adaptive", "time(3)", 86399999),
        ("adaptive", "time", 86399999000),
        ("adaptive_time_microseconds", "time(3)", 86399999000),
        ("nanoseconds", "time", 86399999000000),
        ("isostring", "time", "23:59:59.999Z"),
    ],
)
def test_debezium_23_each_mode_gives_the_same_time(times: str, kind: str, raw: Any) -> None:
    column = postgresql_column("at", kind, modes=Modes(times=times))
    assert convert(column_type(column).conversion, raw, Carrier.JSON) == 86399999000


def test_debezium_23_digits_finer_than_a_microsecond_are_never_cut() -> None:
    refused(Conversion(How.EPOCH, "timestamp_ntz", unit=Unit.NANOSECONDS), 1774751400123456789)
    refused(Conversion(How.TIME, "bigint", unit=Unit.NANOSECONDS), 1)
    refused(Conversion(How.TIMESTAMP_TEXT, "timestamp"), "2026-03-28T23:30:00.123456789Z")


def test_debezium_23_a_structured_time_is_kept_as_its_parts() -> None:
    parts = tuple(
        SourceColumn(name, ConnectType(kind)) for name, kind in (("year", "int32"), ("specialValue", "string"))
    )
    structured = ConnectType("struct", DEBEZIUM_TIME + "StructuredDate", fields=parts)
    assert column_type(SourceColumn("at", structured)).delta == "struct<year:int,specialValue:string>"
    assert value("at", structured, {"specialValue": "infinity"}) == {"year": None, "specialValue": "infinity"}


def test_debezium_24_a_timestamp_without_zone_is_never_mixed_with_one_with_a_zone() -> None:
    text = "2026-03-28T23:30:00+02:00"
    with_zone = convert(Conversion(How.TIMESTAMP_TEXT, "timestamp"), text, Carrier.JSON)
    without = convert(Conversion(How.TIMESTAMP_TEXT, "timestamp_ntz"), text, Carrier.JSON)
    assert with_zone == datetime(2026, 3, 28, 21, 30, tzinfo=UTC)
    assert without == datetime(2026, 3, 28, 23, 30)  # noqa: DTZ001
    refused(Conversion(How.TIMESTAMP_TEXT, "timestamp"), "2026-03-28T23:30:00")


def test_debezium_24_times_and_intervals() -> None:
    assert row_of(EVERYTHING, 4)["tod"] == 86400000000  # 24:00
    assert converted(schema_at(EVERYTHING, 0), {"tod": 86400000000}) == {"tod": 86400000000}
    assert value("zone", ConnectType("string", DEBEZIUM_TIME + "ZonedTime"), "10:15:30Z") == "10:15:30Z"
    assert converted(catalog(AS_TEXTS), {"lasting": row_of(TEXTS, 5)["lasting"]}) == {"lasting": "P1Y2M3DT4H5M6.789S"}
    approximate = column_type(SourceColumn("lasting", ConnectType("int64", DEBEZIUM_TIME + "MicroDuration")))
    assert "interval.handling.mode=string" in approximate.rule.loses


def test_debezium_25_bits_ranges_points_and_vectors() -> None:
    point = ConnectType(
        "struct",
        DEBEZIUM_DATA + "geometry.Point",
        fields=tuple(
            SourceColumn(name, ConnectType(kind))
            for name, kind in (("x", "float64"), ("y", "float64"), ("wkb", "bytes"), ("srid", "int32"))
        ),
    )
    assert column_type(SourceColumn("p", point)).delta == "struct<x:double,y:double,wkb:binary,srid:int>"
    assert value("p", point, {"x": 1.5, "y": -2.0, "wkb": "AP8Q"}) == {
        "x": 1.5,
        "y": -2.0,
        "wkb": b"\x00\xff\x10",
        "srid": None,
    }
    assert value("v", postgresql_column("v", "vector(3)").type, [1.0, 0.5, "NaN"])[:2] == [1.0, 0.5]
    assert postgresql_column("b", "bit(1)").type == ConnectType("boolean")
    assert [column_type(postgresql_column("b", kind)).delta for kind in ("bit(10)", "bit varying(10)")] == [
        "binary"
    ] * 2
    assert column_type(postgresql_column("r", "int4range")).delta == "string"
    assert value("h", postgresql_column("h", "hstore").type, {"a": None, "b": "1"}) == {"a": None, "b": "1"}


def test_debezium_25_a_map_with_numbers_as_keys_comes_as_pairs_or_records() -> None:
    sparse = map_of(ConnectType("int16"), ConnectType("float64"))
    assert value("s", sparse, [[1, 0.5], [3, 2.0]]) == {1: 0.5, 3: 2.0}
    assert value("s", sparse, [{"key": 1, "value": 0.5}], Carrier.AVRO) == {1: 0.5}


def test_debezium_25_an_unknown_schema_name_keeps_the_literal_type_and_is_told() -> None:
    column = column_type(SourceColumn("x", ConnectType("int32", "com.example.Celsius")))
    assert (column.delta, column.is_unknown) == ("int", True)
    assert not column_type(SourceColumn("x", ConnectType("int32"))).is_unknown


def test_an_array_of_two_dimensions_is_turned_away_because_its_values_are_lost() -> None:
    column = schema_at(EVERYTHING, 0).column("tags")
    assert column is not None
    refused(column_type(column).conversion, row_of(EVERYTHING, 5)["tags"])


def test_a_decimal_of_more_digits_than_delta_has_is_refused_by_name() -> None:
    column = postgresql_column("n", "numeric(50,10)")
    with pytest.raises(ConfigurationError, match=r"needs decimal\(50,10\), and Delta has 38 digits"):
        column_type(column)
    with pytest.raises(ConfigurationError, match="38 digits"):
        column_type(SourceColumn("ns", array_of(column.type)))
    assert column_type(column, "string").delta == "string"


@pytest.mark.parametrize(
    ("kind", "delta", "raw", "expected"),
    [("numeric(3,-2)", "decimal(5,0)", b"\x03\xe7", "99900"), ("numeric(2,4)", "decimal(4,4)", b"\x63", "0.0099")],
)
def test_scales_that_only_postgresql_has(kind: str, delta: str, raw: bytes, expected: str) -> None:
    column = column_type(postgresql_column("n", kind))
    assert column.delta == delta
    assert convert(column.conversion, raw, Carrier.AVRO) == Decimal(expected)


def test_debezium_35_an_unsigned_bigint_is_itself_where_its_source_type_is_known() -> None:
    raw = row_of(MARIADB, 0)["u"]
    assert raw == -1
    known = ConnectType("int64", parameters=((SOURCE_TYPE, "BIGINT UNSIGNED"),))
    assert value("u", known, raw) == Decimal(18446744073709551615)
    assert column_type(SourceColumn("u", known)).delta == "decimal(20,0)"


def test_debezium_28_the_catalog_gives_the_schema_that_the_connector_writes() -> None:
    recorded = schema_at(EVERYTHING, 0)
    assert catalog().columns == recorded.columns


def test_debezium_28_a_type_that_the_catalog_has_and_we_do_not_know_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"schemas\.enable=true"):
        postgresql_column("where", "public.address")


def test_debezium_26_columns_that_the_connector_leaves_out_are_named() -> None:
    assert left_out([*TEXT_TYPES, "address"], schema_at(EVERYTHING, 0)) == ["address"]


def test_debezium_14_a_decimal_in_the_header_of_a_key_change_is_a_number() -> None:
    key = header_key([("__debezium.oldkey", '{"id":30,"price":10.50,"name":"a"}')], "__debezium.oldkey")
    assert key is not None
    assert convert_header(decimal(12, 2), key["price"]) == Decimal("10.50")
    assert convert_header(decimal(12, 2), key["id"]) == Decimal("30.00")
    assert convert_header(Conversion(How.PLAIN, "string"), key["name"]) == "a"
    assert convert_header(decimal(12, 2), "BBo=") == Decimal("10.50")
    with pytest.raises(Rejected):
        convert_header(decimal(12, 1), Decimal("10.55"))


def test_a_number_that_is_none_of_its_type_is_turned_away() -> None:
    for conversion, raw in [
        (Conversion(How.PLAIN, "smallint"), 32768),
        (Conversion(How.PLAIN, "int"), 2**31),
        (Conversion(How.PLAIN, "int"), True),
        (Conversion(How.PLAIN, "boolean"), 1),
        (Conversion(How.PLAIN, "string"), 1),
        (Conversion(How.FLOAT, "double"), "1.5"),
        (Conversion(How.BINARY, "binary"), "not base64"),
        (decimal(3, 2), "AQAA"),
        (Conversion(How.DECIMAL_TEXT, "decimal(3,2)"), "1_0"),
        (Conversion(How.DATE_TEXT, "date"), "2026-02-30Z"),
        (Conversion(How.ARRAY, "array<int>", parts=(("items", Conversion(How.PLAIN, "int")),)), {}),
    ]:
        refused(conversion, raw)


@given(st.integers(1 - 10**38, 10**38 - 1), st.integers(0, 38))
def test_unscaled_bytes_are_the_number_they_came_from(number: int, scale: int) -> None:
    raw = number.to_bytes(17, "big", signed=True)
    text = convert(Conversion(How.DECIMAL, "string", scale=scale), raw, Carrier.AVRO)
    assert Fraction(text) * 10**scale == number


@given(st.dates())
def test_days_are_the_date_they_came_from(day: date) -> None:
    number = (day - date(1970, 1, 1)).days
    assert convert(Conversion(How.DAYS, "date"), number, Carrier.JSON) == day
    assert convert(Conversion(How.DATE_TEXT, "date"), f"{day.isoformat()}Z", Carrier.JSON) == day
    assert day_number(day.year, day.month, day.day) == number


@given(st.floats(width=32))
def test_floats_are_the_number_they_came_from(number: float) -> None:
    got = convert(Conversion(How.FLOAT, "float"), number, Carrier.JSON)
    assert struct.pack("f", got) == struct.pack("f", number)


def test_every_conversion_has_a_reference_and_a_meaning() -> None:
    assert set(How) == set(FLAT) | set(TEMPORAL) | set(NESTED) == set(MEANINGS)


@pytest.mark.parametrize(
    "rule", [rule for rule in known_rules() if rule.convert is not literal], ids=lambda rule: rule.name or rule.kind
)
def test_the_table_says_what_the_code_does(rule: Any) -> None:
    parameters = (("scale", "2"),)
    delta = rule.convert(ConnectType(rule.kind, rule.name, parameters)).delta
    assert rule.becomes.startswith(delta) or (delta, rule.name) == ("decimal(38,2)", CONNECT + "Decimal")


def test_the_document_is_made_from_the_code() -> None:
    assert (ROOT / DOCUMENT).read_text() == document()
