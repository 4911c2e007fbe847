"""The bounds of a batch, asked for by themselves; the engine asks for them together with its accounts."""

from pyspark.sql import DataFrame

from common.ask import ask
from common.merge.bounds import Bound, ask_spans, bounds_told
from common.settings.pipeline import Pipeline


def bounds_of(changes: DataFrame, pipeline: Pipeline) -> list[Bound]:
    (found,) = ask({"spans": ask_spans(changes, pipeline.target.prune_by)})["spans"]
    return bounds_told(found, changes, pipeline)
