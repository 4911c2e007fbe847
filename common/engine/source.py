"""Read the rows of a batch: from Kafka by the driver or by Spark, or from rows that are there already."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.kafka.topic import TopicClient
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.offsets import Plan
from common.spark.fetched import fetched_dataframe
from common.spark.small_queries import in_one_task


@dataclass(frozen=True)
class ReadRows:
    """The rows of a plan. With `is_fetched` the driver has fetched them, so they are few enough for it to keep."""

    frame: DataFrame
    is_fetched: bool


class Source(Protocol):
    """Reads the planned records, once."""

    @property
    def spark(self) -> SparkSession:
        """The session of the rows. In foreachBatch it is a clone, and a MERGE takes its transaction from there."""

    def read(self, planned: Plan) -> ReadRows: ...


@dataclass(frozen=True)
class KafkaSource:
    """Reads from Kafka: the driver fetches a few records by itself, and Spark reads larger plans."""

    spark: SparkSession
    topic: TopicClient
    limits: Limits
    by_spark: Callable[[], DataFrame]

    def read(self, planned: Plan) -> ReadRows:
        fetched = None
        if planned.records <= self.limits.fetched_records:
            fetched = fetched_dataframe(self.spark, self.topic, planned, self.limits)
        rows = self.by_spark() if fetched is None else fetched
        return ReadRows(in_one_task(rows, planned, self.limits), fetched is not None)


@dataclass(frozen=True)
class RowsSource:
    """Rows that are there already."""

    rows: DataFrame
    limits: Limits = DEFAULT_LIMITS
    is_fetched: bool = True

    @property
    def spark(self) -> SparkSession:
        return self.rows.sparkSession

    def read(self, planned: Plan) -> ReadRows:
        return ReadRows(in_one_task(self.rows, planned, self.limits), self.is_fetched)


class SharedSource:
    """Reads the records of several targets once, and gives each target those of its topics."""

    def __init__(self, source: Source, planned: Plan) -> None:
        self.spark = source.spark
        self._source, self._planned = source, planned

    def read(self, planned: Plan) -> ReadRows:
        topics = {each.topic for each in planned.end}
        frame = self._rows.frame.where(F.col("topic").isin(*topics))
        return ReadRows(frame, self._rows.is_fetched)

    @cached_property
    def _rows(self) -> ReadRows:
        rows = self._source.read(self._planned)
        # The driver keeps the rows that it has fetched. Spark reads its rows when the first target computes them.
        return rows if rows.is_fetched else ReadRows(rows.frame.persist(), is_fetched=False)

    def release(self) -> None:
        """Let go of the rows when every target has settled them."""
        if not self._rows.is_fetched:
            self._rows.frame.unpersist()
