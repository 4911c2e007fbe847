"""A batch that was read once and judged, and what the accounts ask of it, of rows held by this process or by Spark."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
import structlog
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.pruning import (
    DIVIDED,
    Kinds,
    Spread,
    kinds_of,
    range_held,
    spans_of,
    spread_held,
    spread_told,
    undeclared_keys,
)
from common.engine.accounting import PartitionTally, count_fates, is_misrouted, tally
from common.engine.gaps import Ranges, gaps_held, gaps_in_spark
from common.engine.key_uniqueness import an_unclear_key
from common.errors import first_line
from common.kafka.topic import Gaps
from common.rules.accounting import MISROUTED, tally_held, unclear_held, with_misfolded
from common.rules.compare import NOT_FOR_PYTHON, can_be_held
from common.settings.pipeline import POSITION, Pipeline
from common.spark.deduplicate import fold, fold_held
from common.spark.jvm import bytes_kept, let_go
from common.spark.queries import Answer, ask
from common.spark.source import RECORD, place
from common.spark.validate.disposition import FATE, MERGE
from common.spark.validate.rejection import MESSAGE, REASON

log = structlog.get_logger()
# By Spark's estimate, and each with its record's bytes: less comes here.
HELD_BYTES = 256 * 2**20
IS_TO_MERGE = f"{FATE} = '{MERGE}'"


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
    def rows(self) -> DataFrame:
        """All of them. Which of those to be merged are folded is for `to_merge` and `held` to say."""

    @property
    def to_merge(self) -> DataFrame:
        """One row a key."""

    @property
    def held(self) -> pa.Table | None:
        """The same rows in this process, where it has them."""

    def answers(self) -> Answers: ...

    def gaps(self, ranges: Ranges) -> Gaps:
        """The offsets of these ranges that no row has."""


Keep = Callable[[DataFrame, Pipeline], Materialised]


class InSpark:
    """Computed and folded once, and kept where that was done."""

    held = None

    def __init__(self, rows: DataFrame, pipeline: Pipeline) -> None:
        self.rows, self.schema = rows, rows.schema
        self.to_merge = rows.where(IS_TO_MERGE)
        self._pipeline = pipeline

    def answers(self) -> Answers:
        undeclared = tuple(undeclared_keys(self.schema, self._pipeline))
        kinds = kinds_of(self.schema, [*self._pipeline.target.prune_by, *undeclared])
        questions = {
            "fates": count_fates(self.rows, self._pipeline),
            "unclear": an_unclear_key(self.rows, self._pipeline),
        }
        if kinds:
            questions["spans"] = self.rows.agg(spans_to_merge(kinds, undeclared).alias("spans"))
        found = ask(questions)
        spans = found["spans"][0]["spans"] if kinds else {}
        spreads = {name: spread_told(spans[name], kind) for name, kind in kinds}
        return Answers(tally(found["fates"]), found["unclear"], spreads, kinds)

    def gaps(self, ranges: Ranges) -> Gaps:
        return gaps_in_spark(self.rows, ranges)


class Held:
    """Rows in this process: to fold and to count them in Spark takes longer."""

    def __init__(self, schema: T.StructType, judged: DataFrame, pipeline: Pipeline) -> None:
        rows = judged.toArrow()
        self.schema, self.held = schema, with_misfolded(rows, fold_held(rows, pipeline))
        self._pipeline = pipeline

    def answers(self) -> Answers:
        undeclared = undeclared_keys(self.schema, self._pipeline)
        kinds = kinds_of(self.schema, [*self._pipeline.target.prune_by, *undeclared])
        to_merge = self.held.filter(pc.equal(self.held[FATE], MERGE))
        undivided = undeclared if to_merge.num_rows > DIVIDED else ()
        spreads = {
            name: range_held(to_merge[name]) if name in undivided else spread_held(to_merge[name], kind)
            for name, kind in kinds
        }
        return Answers(tally_held(self.held), unclear_held(self.held, self._pipeline), spreads, kinds)

    def gaps(self, ranges: Ranges) -> Gaps:
        return gaps_held(self.held, ranges)


class Few(Held):
    """Only here: to keep them in Spark as well would take longer than all that is done with them."""

    def __init__(self, judged: DataFrame, pipeline: Pipeline) -> None:
        super().__init__(judged.schema, judged.select("*", misrouted(pipeline)), pipeline)
        self._spark = judged.sparkSession

    @cached_property
    def rows(self) -> DataFrame:
        """For what Spark has to do with them after all, in one task."""
        return self._spark.createDataFrame(self.held.drop_columns(MISROUTED), self.schema).coalesce(1)

    @property
    def to_merge(self) -> DataFrame:
        return self.rows.where(IS_TO_MERGE)


class Many(Held):
    """Of rows that Spark keeps, all that the accounts and the merge need of them: not the records' own bytes."""

    def __init__(self, rows: DataFrame, pipeline: Pipeline) -> None:
        needed = rows.select("*", misrouted(pipeline)).withColumn(RECORD, place()).drop(REASON, MESSAGE)
        super().__init__(rows.schema, needed, pipeline)
        self.rows, self._needed = rows, needed.schema

    @cached_property
    def to_merge(self) -> DataFrame:
        """From here, and not folded again: what is merged is what was accounted for."""
        to_merge = self.held.filter(pc.equal(self.held[FATE], MERGE))
        # Spark takes no table without any chunk.
        return self.rows.sparkSession.createDataFrame(to_merge if to_merge.num_rows else [], self._needed)


def keep_few(judged: DataFrame, pipeline: Pipeline) -> Materialised:
    """Records that this process has fetched, which are few."""
    return Few(judged, pipeline) if can_hold(judged, pipeline) else kept_in_spark(judged, pipeline)


def keep_many(judged: DataFrame, pipeline: Pipeline) -> Materialised:
    """Once Spark has computed them it tells how large they are."""
    if not can_hold(judged, pipeline):
        return kept_in_spark(judged, pipeline)
    rows = judged.localCheckpoint()
    if bytes_kept(rows) <= HELD_BYTES:
        try:
            return Many(rows, pipeline)
        except NOT_FOR_PYTHON as error:
            log.info("Spark accounts for this batch", reason=first_line(error))
    kept = kept_in_spark(rows, pipeline)
    let_go(rows)
    return kept


def kept_in_spark(judged: DataFrame, pipeline: Pipeline) -> Materialised:
    return InSpark(fold(judged, pipeline).localCheckpoint(), pipeline)


def can_hold(judged: DataFrame, pipeline: Pipeline) -> bool:
    """Unless they are of a kind that only Spark knows."""
    order = [] if pipeline.target.sequence == POSITION else [pipeline.target.sequence]
    return can_be_held(judged.schema, [*pipeline.target.keys, *order])


@cache
def spans_to_merge(kinds: Kinds, undivided: tuple[str, ...]) -> Column:
    return spans_of(kinds, F.expr(IS_TO_MERGE), undivided)


@cache
def misrouted(pipeline: Pipeline) -> Column:
    return is_misrouted(pipeline).alias(MISROUTED)
