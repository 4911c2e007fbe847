"""The bounds of a batch, asked for by themselves; the engine asks for them together with its accounts."""

from collections.abc import Sequence
from typing import cast

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.ask import Answer, ask
from common.merge.bounds import Bound, bounds_told, kinds_of, spans_of
from common.settings.pipeline import Pipeline


def bounds_of(changes: DataFrame, pipeline: Pipeline) -> list[Bound]:
    columns = pipeline.target.prune_by
    return bounds_told(ask_spans(changes, columns), kinds_of(changes.schema, columns), pipeline)


def ask_spans(changes: DataFrame, columns: Sequence[str]) -> Answer:
    told = spans_of(kinds_of(changes.schema, columns), F.lit(True))  # noqa: FBT003
    (found,) = ask({"spans": changes.agg(told.alias("spans"))})["spans"]
    return cast("Answer", found["spans"])
