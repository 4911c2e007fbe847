"""The bounds of a batch, asked for by themselves; the engine asks for them together with its accounts."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.rules.pruning import ColumnTypes, PruneBound, ValueRanges, prune_bounds, value_ranges
from common.settings.pipeline import Pipeline
from common.spark.pruning import ranges_column, ranges_from_json
from common.spark.queries import collect_many


def bounds_of(changes: DataFrame, pipeline: Pipeline) -> list[PruneBound]:
    columns = pipeline.target.prune_by
    found = ranges_of(changes, columns)
    return prune_bounds(found, column_types(changes.schema, columns), pipeline.target.keys, deletes=pipeline.deletes)


def ranges_of(changes: DataFrame, columns: Sequence[str]) -> dict[str, ValueRanges]:
    """By Spark; and by the driver they are the same."""
    types = column_types(changes.schema, columns)
    column = ranges_column(types, F.lit(True))  # noqa: FBT003
    (found,) = collect_many({"ranges": changes.agg(column.alias("ranges"))})["ranges"]
    by_spark = {name: ranges_from_json(found["ranges"][name], kind) for name, kind in types}
    arrow = changes.toArrow()
    assert by_spark == {name: value_ranges(arrow[name], kind) for name, kind in types}
    return by_spark


def column_types(schema: T.StructType, columns: Sequence[str]) -> ColumnTypes:
    return tuple((name, schema[name].dataType.simpleString()) for name in columns)
