"""Decode and fold: literal rows in, whole rows out."""

from chispa import assert_df_equality
from pyspark.sql import SparkSession

from common.decode.json import is_broken, with_event
from common.fold.latest import latest_per_key

COLUMNS = {"id": "bigint", "at": "string", "degrees": "double"}


def test_sound_json_becomes_typed_columns(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(b'{"id":1,"at":"2023-01-01T00:00","degrees":-3.5}',)], "value binary")
    expected = spark.createDataFrame([(1, "2023-01-01T00:00", -3.5)], "id bigint, at string, degrees double")
    assert_df_equality(with_event(rows, COLUMNS).select("event.id", "event.at", "event.degrees"), expected)


def test_what_cannot_be_decoded_is_broken_and_never_a_row_of_nulls(spark: SparkSession) -> None:
    values = [
        (0, b'{"id":1,"at":"x","degrees":2}', False),
        (1, b'{"id":1,"at":"x"}', False),
        (2, None, True),
        (3, b"", True),
        (4, b"not json", True),
        (5, b'{"id":1,"at":"x","degrees":2', True),
        (6, b'{"id":"one","at":"x","degrees":2}', True),
        (7, b'{"at":"x","degrees":2}', True),
        (8, b'{"id":null,"at":"x","degrees":2}', True),
        (9, b"[1,2]", True),
        (10, b'{"id":1,"at":"x","degrees":NaN}', True),
    ]
    rows = spark.createDataFrame([(number, value) for number, value, _ in values], "number int, value binary")
    found = with_event(rows, COLUMNS).select("number", is_broken(["id", "at"]).alias("broken"))
    expected = spark.createDataFrame([(number, broken) for number, _, broken in values], "number int, broken boolean")
    assert_df_equality(found, expected, ignore_nullable=True, ignore_row_order=True)


def test_the_last_event_of_a_key_remains(spark: SparkSession) -> None:
    events = spark.createDataFrame(
        [(7, 1, "a", 1.0), (9, 1, "a", None), (8, 1, "a", 3.0), (1, 2, "a", 4.0), (2, 2, "b", 5.0)],
        "offset bigint, id bigint, at string, degrees double",
    )
    expected = spark.createDataFrame(
        [(1, "a", None), (2, "a", 4.0), (2, "b", 5.0)], "id bigint, at string, degrees double"
    )
    found = latest_per_key(events, ["id", "at"], ["id", "at", "degrees"])
    assert_df_equality(found, expected, ignore_nullable=True, ignore_row_order=True)
