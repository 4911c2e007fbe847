"""Which types hold another one, against Delta's own rules."""

from itertools import permutations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from common.delta.type_changes import holds, widens
from common.spark.jvm import java

KINDS = ["tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "string", "boolean", "binary"]
DECIMALS = [f"decimal({digits})" for digits in ("3,0", "10,0", "10,2", "12,2", "12,4", "19,0", "20,0", "38,18")]


def parsed(kind: str) -> T.DataType:
    return T.StructType.fromDDL(f"x {kind}")["x"].dataType


def test_what_delta_can_widen_is_what_we_say(spark: SparkSession) -> None:
    ask_delta = getattr(java(spark, "org.apache.spark.sql.delta.TypeWidening$"), "MODULE$").isTypeChangeSupported
    parse = java(spark, "org.apache.spark.sql.types.DataType").fromDDL
    for narrow, wide in permutations([*KINDS, *DECIMALS], 2):
        assert widens(parsed(narrow), parsed(wide)) == bool(ask_delta(parse(narrow), parse(wide))), (narrow, wide)


@pytest.mark.parametrize(
    ("wide", "narrow", "fits"),
    [
        ("struct<a: bigint, b: string>", "struct<A: int, b: string>", True),
        ("struct<b: string, a: int>", "struct<a: int, b: string>", False),
        ("struct<a: int, b: string>", "struct<a: int>", False),
        ("array<bigint>", "array<int>", True),
        ("array<int>", "array<bigint>", False),
        ("map<string, double>", "map<string, float>", True),
        ("string", "int", False),
    ],
)
def test_a_value_inside_of_another_is_held_by_its_place(
    spark: SparkSession,
    wide: str,
    narrow: str,
    *,
    fits: bool,
) -> None:
    """Spark casts a struct by the order of its fields, whatever their names are."""
    assert holds(parsed(wide), parsed(narrow)) == fits
