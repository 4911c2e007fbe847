"""Which field of a side table's struct holds a column's values, as the column's type changes."""

import pytest
from pyspark.sql import types as T

from common.delta.side_fields import column_of, field_for

STORED = (
    T.StructType()
    .add("id", T.LongType())
    .add("Part", T.StringType())
    .add("degrees", T.DoubleType())
    .add("degrees:decimal_10_2", T.DecimalType(10, 2))
)


@pytest.mark.parametrize(
    ("name", "kind", "field"),
    [
        ("id", T.LongType(), "id"),
        ("part", T.StringType(), "Part"),
        ("at", T.TimestampType(), "at"),
        ("id", T.IntegerType(), "id:int"),
        ("degrees", T.DecimalType(10, 2), "degrees:decimal_10_2"),
        ("degrees", T.DecimalType(12, 2), "degrees:decimal_12_2"),
        ("degrees", T.ArrayType(T.StringType()), "degrees:array_string"),
    ],
)
def test_a_column_keeps_its_field_as_long_as_it_keeps_its_type(name: str, kind: T.DataType, field: str) -> None:
    assert field_for(name, kind, STORED) == field
    assert column_of(field).lower() == name


def test_two_types_that_are_written_alike_have_two_fields() -> None:
    stored = T.StructType().add("x", T.LongType()).add("x:struct_a_int", T.StringType())
    assert field_for("x", T.StructType().add("a", T.IntegerType()), stored) == "x:struct_a_int:2"
