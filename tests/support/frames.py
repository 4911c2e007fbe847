"""DataFrames of literal rows."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema


def frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], schema: str | T.StructType) -> DataFrame:
    """Give Spark the rows through Arrow.

    A list would go through Python processes of Spark's: a third of a second of CPU time for each query.
    """
    declared = schema if isinstance(schema, T.StructType) else T.StructType.fromDDL(schema)
    if not rows:
        # PySpark cannot send a table of Arrow without rows.
        return spark.range(0).select(*(F.lit(None).cast(field.dataType).alias(field.name) for field in declared))
    assert all(len(row) == len(declared) for row in rows), "as many values as columns"
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array([as_arrow(value, field.dataType) for value in column], kind.type)
        for column, field, kind in zip(columns, declared, to_arrow_schema(declared), strict=True)
    ]
    return spark.createDataFrame(pa.table(arrays, names=declared.names), declared)


def as_arrow(value: Any, kind: T.DataType) -> Any:
    """Write a struct as a dict, and a map as pairs: what Arrow takes them from."""
    if value is None:
        return None
    if isinstance(kind, T.StructType):
        return {field.name: as_arrow(each, field.dataType) for field, each in zip(kind, value, strict=True)}
    if isinstance(kind, T.ArrayType):
        return [as_arrow(each, kind.elementType) for each in value]
    if isinstance(kind, T.MapType):
        return [(as_arrow(name, kind.keyType), as_arrow(each, kind.valueType)) for name, each in value.items()]
    return value
