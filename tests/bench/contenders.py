"""What every contender is: a table of its own, and a way to settle a batch of Kafka records into it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from common.kafka.topic import TopicClient
from common.model.offsets import Plan
from common.settings.pipeline import Pipeline
from tests.bench.batches import Row
from tests.bench.bounds import Bound
from tests.bench.data import DeltaBase, copy_delta, forget_properties
from tests.bench.files import DeltaFiles, Reach, Rewrite
from tests.bench.session import STOCK, new_session


@dataclass(frozen=True)
class Sent:
    """A batch that is in the topic: its rows, where they lie there, and the bounds that hold all of its keys."""

    rows: Sequence[Row]
    planned: Plan
    bound: Bound


@dataclass(frozen=True)
class Place:
    """Where a cell is played: the base, the topic, and a folder for the copies."""

    spark: SparkSession
    base: DeltaBase
    pipeline: Pipeline
    topic: TopicClient
    folder: Path


@dataclass
class Timing:
    """How long a batch took. `seconds` is the wall's, unless a contender knows better and says why."""

    wall: float = 0.0
    seconds: float = 0.0
    stages: dict[str, float] = field(default_factory=dict)
    # Files that the contender itself says it had to consider.
    candidates: int | None = None


@contextmanager
def timed() -> Iterator[Timing]:
    timing, began = Timing(), monotonic()
    yield timing
    timing.wall = timing.seconds = monotonic() - began


class Table(Protocol):
    """A contender's table, as the harness looks at it between batches."""

    def reach(self, bound: Bound | None) -> Reach: ...
    def advance(self) -> Rewrite: ...
    def rows(self, spark: SparkSession) -> DataFrame: ...


class Contender(Protocol):
    """`is_bounded`: whether it leaves files unread by the batch's bounds."""

    name: str
    is_bounded: bool
    in_jvm: bool

    @property
    def table(self) -> Table: ...

    def prepare(self, place: Place) -> None:
        """Make its table from the base, and whatever a long-lived run would have made before its first batch."""

    def run(self, sent: Sent) -> Timing:
        """Settle the batch."""


class DeltaCopy:
    """A copy of a Delta base."""

    def __init__(self, place: Place, name: str) -> None:
        self.path = copy_delta(place.base, place.folder / name)
        self._files = DeltaFiles(self.path)

    def reach(self, bound: Bound | None) -> Reach:
        return self._files.reach(bound)

    def advance(self) -> Rewrite:
        return self._files.advance()

    def rows(self, spark: SparkSession) -> DataFrame:
        return spark.read.format("delta").load(str(self.path))


def stock_copy(place: Place, name: str) -> DeltaCopy:
    """As a user who tunes nothing has it."""
    copy = DeltaCopy(place, name)
    forget_properties(place.spark, copy.path, place.base.base.layout)
    copy.advance()
    return copy


def set_properties(place: Place, table: DeltaCopy, properties: Mapping[str, str]) -> None:
    for key, value in properties.items():
        place.spark.sql(f"ALTER TABLE delta.`{table.path}` SET TBLPROPERTIES ('{key}' = '{value}')")
    table.advance()


def stock_session(spark: SparkSession) -> SparkSession:
    return new_session(spark, STOCK)


def tuned_session(spark: SparkSession) -> SparkSession:
    """conf/local.conf as it is: the session that ours has too."""
    return new_session(spark, {})
