"""The bounds of a batch, asked for by themselves; the engine asks for them together with its accounts."""

from collections.abc import Sequence

from common.delta.pruning import bounds_by, column_types, value_ranges_of
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.rules.pruning import PruneBound, ValueRanges
from common.settings.pipeline import Pipeline
from common.spark.pruning import ranges_column, ranges_from_json
from common.spark.queries import collect_many


def bounds_of(changes: DataFrame, pipeline: Pipeline) -> list[PruneBound]:
    columns = pipeline.target.prune_by
    return bounds_by(spreads_of(changes, columns), column_types(changes.schema, columns), pipeline)


def spreads_of(changes: DataFrame, columns: Sequence[str]) -> dict[str, ValueRanges]:
    """By Spark; and held by this process they are the same."""
    kinds = column_types(changes.schema, columns)
    told = ranges_column(kinds, F.lit(True))  # noqa: FBT003
    (found,) = collect_many({"spans": changes.agg(told.alias("spans"))})["spans"]
    value_ranges = {name: ranges_from_json(found["spans"][name], kind) for name, kind in kinds}
    arrow = changes.toArrow()
    assert value_ranges == {name: value_ranges_of(arrow[name], kind) for name, kind in kinds}
    return value_ranges
