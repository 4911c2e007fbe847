"""Deduplicate a batch that Spark holds: the same rule as rules/deduplicate.py, as a window."""

from collections.abc import Sequence
from functools import cache

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from common.model.disposition import DISPOSITION, FOLDED, MERGE
from common.model.record import RECORD
from common.settings.pipeline import Pipeline


def deduplicate(classified: DataFrame, pipeline: Pipeline, newest: Sequence[Column] = ()) -> DataFrame:
    """Set the disposition `folded` on all but the newest event of each key.

    `newest` goes before the ordering, for rows that come from more than one reading of a topic.
    """
    column = deduplicated_column(pipeline, newest) if newest else cached_column(pipeline)
    return classified.withColumn(DISPOSITION, column)


@cache
def cached_column(pipeline: Pipeline) -> Column:
    return deduplicated_column(pipeline, ())


def deduplicated_column(pipeline: Pipeline, newest: Sequence[Column]) -> Column:
    order = [*newest, *newest_first(pipeline.target.ordering)]
    of_key = Window.partitionBy(DISPOSITION, *pipeline.target.keys).orderBy(*order)
    is_older = (F.col(DISPOSITION) == MERGE) & (F.row_number().over(of_key) > 1)
    return F.when(is_older, F.lit(FOLDED)).otherwise(F.col(DISPOSITION))


def newest_first(ordering: str | None) -> list[Column]:
    offset = F.col(f"{RECORD}.offset")
    if ordering is None:
        return [offset.desc()]
    return [F.col(ordering).desc(), offset, F.col(f"{RECORD}.topic"), F.col(f"{RECORD}.partition")]
