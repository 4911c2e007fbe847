"""The bounds of a batch, asked for by themselves; the engine asks for them together with its accounts."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.delta.pruning import Bound, Spread, bounds_by, kinds_of, spans_of, spread_held, spread_told
from common.settings.pipeline import Pipeline
from common.spark.queries import ask


def bounds_of(changes: DataFrame, pipeline: Pipeline) -> list[Bound]:
    columns = pipeline.target.prune_by
    return bounds_by(spreads_of(changes, columns), kinds_of(changes.schema, columns), pipeline)


def spreads_of(changes: DataFrame, columns: Sequence[str]) -> dict[str, Spread]:
    """By Spark; and held by this process they are the same."""
    kinds = kinds_of(changes.schema, columns)
    told = spans_of(kinds, F.lit(True))  # noqa: FBT003
    (found,) = ask({"spans": changes.agg(told.alias("spans"))})["spans"]
    spreads = {name: spread_told(found["spans"][name], kind) for name, kind in kinds}
    held = changes.toArrow()
    assert spreads == {name: spread_held(held[name], kind) for name, kind in kinds}
    return spreads
