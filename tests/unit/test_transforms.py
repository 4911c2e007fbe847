"""Decode, divide and fold: literal records in, whole rows out."""

from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from common.settings.pipeline import Pipeline
from tests.support.frames import frame
from tests.support.records import KAFKA, NOON, classified_json, records

pytestmark = pytest.mark.usefixtures("compiled")


def pipeline(**parts: Any) -> Pipeline:
    source = {"topic": "t", "columns": {"id": "bigint", "at": "string", "degrees": "double"}} | parts.pop("source", {})
    target = {"keys": ["id"]} | parts.pop("target", {})
    return Pipeline.model_validate({"name": "trial", "source": source, "target": target, **parts})


def reasons(found: DataFrame) -> list[str | None]:
    return [row["_reason"] for row in found.orderBy("_record.offset").collect()]


def dispositions(found: DataFrame) -> list[str]:
    return [row["_disposition"] for row in found.orderBy("_record.offset").collect()]


def test_sound_json_becomes_typed_columns(spark: SparkSession) -> None:
    found = classified_json(records(spark, b'{"id":1,"at":"2023-01-01T00:00","degrees":-3.5}'), pipeline())
    expected = frame(
        spark, [(1, "2023-01-01T00:00", -3.5, "merge")], "id bigint, at string, degrees double, _disposition string"
    )
    assert_df_equality(found.select("id", "at", "degrees", "_disposition"), expected, ignore_nullable=True)


def test_what_is_not_such_an_event_gets_its_reason(spark: SparkSession) -> None:
    values = [
        (b'{"id":1,"at":"x","degrees":2}', None),
        (b'{"degrees":2.5,"at":"x","id":1,"more":[1]}', None),
        (b'{"id":1,"at":null}', None),
        (b"{}", "NULL_KEY"),
        (b'{"id":null,"at":"x"}', "NULL_KEY"),
        (b' {"id":1}\n', None),
        (b'{"id":1,"at":"\\ud83d\\ude00 \\\\ud800"}', None),
        (None, "NULL_VALUE"),
        (b"\xff", "NOT_UTF8"),
        (b'{"at":"\xc3"}', "NOT_UTF8"),
        (b"", "NOT_JSON"),
        (b"not json", "NOT_JSON"),
        (b'{"id":1', "NOT_JSON"),
        (b'{"id":1} {"id":2}', "NOT_JSON"),
        (b'{"id":1}] trailing', "NOT_JSON"),
        (b'{"id":1},{"id":2}', "NOT_JSON"),
        (b'{"id":1,"id":2}', "NOT_JSON"),
        (b'{"degrees":NaN}', "NOT_JSON"),
        (b"{'id':1}", "NOT_JSON"),
        (b'{"id":01}', "NOT_JSON"),
        (b'{"at":"\\ud800"}', "NOT_JSON"),
        (b'{"at":"\\ude00\\ud83d"}', "NOT_JSON"),
        (b'{"at":"\\\\ud83d\\ude00"}', "NOT_JSON"),
        (b"[1,2]", "NOT_AN_OBJECT"),
        (b"null", "NOT_AN_OBJECT"),
        (b'"text"', "NOT_AN_OBJECT"),
        (b'{"id":"1"}', "WRONG_TYPE"),
        (b'{"id":1.5}', "WRONG_TYPE"),
        (b'{"id":true}', "WRONG_TYPE"),
        (b'{"id":9223372036854775808}', "WRONG_TYPE"),
        (b'{"at":1}', "WRONG_TYPE"),
        (b'{"degrees":"2"}', "WRONG_TYPE"),
        (b'{"degrees":1e400}', "WRONG_TYPE"),
        (b'{"degrees":{}}', "WRONG_TYPE"),
    ]
    found = classified_json(records(spark, *(value for value, _ in values)), pipeline(target={"keys": ["id"]}))
    assert list(zip((value for value, _ in values), reasons(found), strict=True)) == values


def test_no_depth_of_nesting_ends_the_process(spark: SparkSession) -> None:
    """Spark's own functions on VARIANT go down by recursion: some hundred objects within another overflow the stack."""
    deep = b'{"id":' * 900 + b"1" + b"}" * 900
    values = [
        (b'{"id":1,"more":' + deep + b"}", None),
        (b'{"at":' + deep + b"}", "WRONG_TYPE"),
        (deep, "WRONG_TYPE"),
        (b"[" + deep + b"]", "NOT_AN_OBJECT"),
        (b'{"id":1},' + deep, "NOT_JSON"),
        (b'{"id":1,"more":' + b"[" * 998 + b"]" * 998 + b"}", None),
        (b'{"id":1,"more":' + b"[" * 999 + b"]" * 999 + b"}", "NOT_JSON"),
        (b"[" * 100_000 + b"]" * 100_000, "NOT_JSON"),
        (b"[" * 100_000, "NOT_JSON"),
    ]
    found = classified_json(records(spark, *(value for value, _ in values)), pipeline())
    assert reasons(found) == [reason for _, reason in values]
    assert max(len(row["_message"] or "") for row in found.collect()) < 100


def test_the_last_event_of_a_key_remains(spark: SparkSession) -> None:
    found = classified_json(
        records(spark, b'{"id":1,"degrees":1}', b'{"id":2}', b'{"id":1}', b'{"id":1,"degrees":3}', b"x"), pipeline()
    )
    assert dispositions(found) == ["folded", "merge", "folded", "merge", "quarantined"]


def test_a_declared_sequence_beats_the_place(spark: SparkSession) -> None:
    found = classified_json(
        records(spark, b'{"id":1,"at":"2"}', b'{"id":1,"at":"3"}', b'{"id":1,"at":"1"}', b'{"id":1}'),
        pipeline(target={"sequence": "at"}),
    )
    assert dispositions(found) == ["folded", "merge", "folded", "quarantined"]
    assert reasons(found)[-1] == "NULL_SEQUENCE"


def test_of_equal_sequences_the_first_remains_as_across_batches(spark: SparkSession) -> None:
    found = classified_json(
        records(spark, b'{"id":1,"at":"2","degrees":1}', b'{"id":1,"at":"2","degrees":2}', b'{"id":1,"at":"1"}'),
        pipeline(target={"sequence": "at"}),
    )
    assert dispositions(found) == ["merge", "folded", "folded"]


def test_a_null_value_is_quarantined_or_skipped_as_declared(spark: SparkSession) -> None:
    assert dispositions(classified_json(records(spark, None), pipeline())) == ["quarantined"]
    assert dispositions(classified_json(records(spark, None), pipeline(source={"null_value": "skip"}))) == ["null"]


def test_a_tombstone_is_judged_by_its_key_as_strictly_as_a_value(spark: SparkSession) -> None:
    """What is wrong beside the key columns does not matter, nor do rules and times: a tombstone has none of that."""
    keys: list[tuple[bytes | None, str | None]] = [
        (b'{"id":1}', None),
        (b' {"id":1,"degrees":"wrong","more":1} ', None),
        (None, "the record has neither value nor key"),
        (b"1", "message key: an object is wanted, not BIGINT"),
        (b'{"id":1} x', "message key: the value is not one JSON text"),
        (b'{"id":1.5}', "message key: id: bigint is wanted, not DECIMAL(2,1)"),
        (b"{}", "message key: id is null, and a key of the table"),
        (b'{"id":1}' + b" " * 50, "message key: 58 bytes, 50 allowed"),
    ]
    rows = [(key, None, "t", 0, offset, NOON) for offset, (key, _) in enumerate(keys)]
    found = classified_json(
        frame(spark, rows, KAFKA).union(
            records(spark, b'{"id":"1"}').selectExpr("key", "value", "topic", "partition", "99L", "timestamp")
        ),
        pipeline(
            source={"null_value": "delete", "max_record_bytes": 50},
            quality={"rules": [{"name": "measured", "check": "degrees IS NOT NULL"}]},
            late={"column": "at", "bound": "5d"},
        ),
    )
    judged = found.orderBy("_record.offset").collect()
    assert [(row["_record"]["key"], row["_message"]) for row in judged[:-1]] == keys
    assert [row["_reason"] for row in judged] == [None, None, *["BAD_KEY"] * 6, "WRONG_TYPE"]
    assert [row["_deleted"] for row in judged] == [True] * 8 + [False]
    assert {row["_record"]["value"] for row in judged[:-1]} == {None}
    assert dispositions(found)[:2] == ["folded", "merge"]


def test_rules_and_size_turn_away_by_name(spark: SparkSession) -> None:
    found = classified_json(
        records(spark, b'{"id":1,"degrees":99}', b'{"id":2,"degrees":9}', b'{"id":3}', b'{"id":4,"at":"a long text"}'),
        pipeline(
            source={"max_record_bytes": 24},
            quality={"rules": [{"name": "plausible", "check": "degrees BETWEEN -90 AND 60"}]},
        ),
    )
    assert reasons(found) == ["RULE_plausible", None, None, "OVERSIZED"]


def test_late_and_future_events_are_told_by_the_records_own_time(spark: SparkSession) -> None:
    found = classified_json(
        records(
            spark,
            b'{"id":1,"at":"2023-01-05T12:00:00Z"}',
            b'{"id":2,"at":"2023-01-05T11:59:59Z"}',
            b'{"id":3,"at":"2023-01-10T13:00:00Z"}',
            b'{"id":4,"at":"2023-01-10T13:00:01Z"}',
            b'{"id":5,"at":"yesterday"}',
            b'{"id":6,"at":"11:00"}',
        ),
        pipeline(late={"column": "at", "bound": "5d", "future_bound": "1h"}),
    )
    assert dispositions(found) == ["merge", "late", "merge", "quarantined", "quarantined", "quarantined"]
    assert reasons(found)[-3:] == ["FUTURE", "NO_TIME", "NO_TIME"]


def test_both_zeros_are_one_key(spark: SparkSession) -> None:
    found = classified_json(
        records(spark, b'{"id":1,"degrees":-0e0}', b'{"id":2,"degrees":0.0}'), pipeline(target={"keys": ["degrees"]})
    )
    assert dispositions(found) == ["folded", "merge"]


def test_times_and_decimals_survive_unchanged_or_are_turned_away(spark: SparkSession) -> None:
    values = [
        (b'{"id":1,"at":"2023-01-05T12:00:00Z","degrees":12.34}', None),
        (b'{"id":2,"at":"10:00"}', "WRONG_TYPE"),
        (b'{"id":3,"at":"2023-13-05T12:00:00Z"}', "WRONG_TYPE"),
        (b'{"id":4,"at":"2023-01-05T12:00\\n"}', "WRONG_TYPE"),
        (b'{"id":5,"at":"0001-01-01T00:00+01:00"}', "WRONG_TYPE"),
        (b'{"id":6,"degrees":99999999999999.999}', "WRONG_TYPE"),
        # Beyond the digits that any wider decimal could compare, and rounded to a double by the parser.
        (b'{"id":7,"degrees":0.00000000000000000000000000000000000001}', "WRONG_TYPE"),
        (b'{"id":8,"degrees":1.10000000000000000000000000000000000000000001}', "WRONG_TYPE"),
        (b'{"id":9,"degrees":1.10000000000000000001e0}', "WRONG_TYPE"),
    ]
    found = classified_json(
        records(spark, *(value for value, _ in values)),
        pipeline(source={"columns": {"id": "bigint", "at": "timestamp", "degrees": "decimal(38,2)"}}),
    )
    assert list(zip((value for value, _ in values), reasons(found), strict=True)) == values
