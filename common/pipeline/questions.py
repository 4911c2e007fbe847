"""A batch that was read once and judged, and what the accounts ask of it: by this process of a few rows, or Spark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.account.held import MISROUTED, tally_held, unclear_held
from common.account.keys import an_unclear_key
from common.account.tally import PartitionTally, count_fates, is_misrouted, tally
from common.arrow import can_be_held
from common.ask import Answer, ask
from common.divide.fate import FATE, MERGE
from common.merge.bounds import Kinds, Spread, kinds_of, spans_of, spread_held, spread_told
from common.settings.pipeline import POSITION, Pipeline


@dataclass(frozen=True)
class Answers:
    """Of each partition its tally, at most one key that is not clear, and where the prune columns' values lie."""

    tally: Mapping[int, PartitionTally]
    unclear: Sequence[Answer]
    spreads: Mapping[str, Spread]
    kinds: Kinds


class Materialised(Protocol):
    """Rows that were read once."""

    @property
    def schema(self) -> T.StructType: ...

    @property
    def rows(self) -> DataFrame: ...

    @property
    def held(self) -> pa.Table | None:
        """The same rows in this process, where it has them."""

    def answers(self) -> Answers: ...


class InSpark:
    """Kept where they were judged."""

    held = None

    def __init__(self, judged: DataFrame, pipeline: Pipeline) -> None:
        self.rows = judged.localCheckpoint()
        self.schema = self.rows.schema
        self._pipeline = pipeline

    def answers(self) -> Answers:
        kinds = kinds_of(self.schema, self._pipeline.target.prune_by)
        questions = {
            "fates": count_fates(self.rows, self._pipeline),
            "unclear": an_unclear_key(self.rows, self._pipeline),
        }
        if kinds:
            questions["spans"] = self.rows.agg(spans_to_merge(kinds).alias("spans"))
        found = ask(questions)
        spans = found["spans"][0]["spans"] if kinds else {}
        spreads = {name: spread_told(spans[name], kind) for name, kind in kinds}
        return Answers(tally(found["fates"]), found["unclear"], spreads, kinds)


@cache
def spans_to_merge(kinds: Kinds) -> Column:
    return spans_of(kinds, F.col(FATE) == MERGE)


def kept_in_memory(judged: DataFrame, pipeline: Pipeline) -> Materialised:
    """Unless it is of a kind that only Spark knows."""
    order = [] if pipeline.target.sequence == POSITION else [pipeline.target.sequence]
    can = can_be_held(judged.schema, [*pipeline.target.keys, *order])
    return InMemory(judged, pipeline) if can else InSpark(judged, pipeline)


class InMemory:
    """Held by this process: to keep and to count them in Spark would take longer than all that is done with them."""

    def __init__(self, judged: DataFrame, pipeline: Pipeline) -> None:
        self.schema = judged.schema
        self.held = judged.select("*", misrouted(pipeline)).toArrow()
        self._spark, self._pipeline = judged.sparkSession, pipeline

    @cached_property
    def rows(self) -> DataFrame:
        """For what Spark has to do with them after all, in one task: they are few."""
        return self._spark.createDataFrame(self.held.drop_columns(MISROUTED), self.schema).coalesce(1)

    def answers(self) -> Answers:
        kinds = kinds_of(self.schema, self._pipeline.target.prune_by)
        to_merge = self.held.filter(pc.equal(self.held[FATE], MERGE))
        spreads = {name: spread_held(to_merge[name], kind) for name, kind in kinds}
        return Answers(tally_held(self.held), unclear_held(self.held, self._pipeline), spreads, kinds)


@cache
def misrouted(pipeline: Pipeline) -> Column:
    return is_misrouted(pipeline).alias(MISROUTED)
