"""Delta on Spark without the engine: the MERGE that a foreachBatch usually holds, and a bare append."""

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from common.kafka.topic import TopicClient
from common.model.offsets import Plan
from common.spark.source import read_range
from tests.bench.contenders import (
    DeltaCopy,
    Place,
    Sent,
    Timing,
    stock_copy,
    stock_session,
    timed,
    tuned_session,
)
from tests.bench.digest import COLUMNS, KEYS
from tests.bench.session import activate

EVENT = "latitude double, longitude double, time string, temperature_2m double"
SAME_KEY = " AND ".join(f"t.{key} = s.{key}" for key in KEYS)


def decoded(spark: SparkSession, topic: TopicClient, planned: Plan) -> DataFrame:
    """As most would write it: from_json, and no question asked."""
    event = F.from_json(F.col("value").cast("string"), EVENT).alias("event")
    events = read_range(spark, topic, planned).select("offset", event).select("offset", "event.*")
    return events.withColumn("month", F.substring("time", 1, 7))


def latest(events: DataFrame) -> DataFrame:
    """The last event of each key; a key's events are all in one partition."""
    newest_first = Window.partitionBy(*KEYS).orderBy(F.desc("offset"))
    numbered = events.withColumn("number", F.row_number().over(newest_first))
    return numbered.where("number = 1").select(*COLUMNS)


def condition(sent: Sent, *, is_bounded: bool) -> str:
    return f"{SAME_KEY} AND {sent.bound.sql()}" if is_bounded else SAME_KEY


class PlainMerge:
    """One MERGE by the key: with stock or tuned settings, alone or given the bounds of the batch."""

    in_jvm = True
    table: DeltaCopy

    def __init__(self, name: str, *, is_tuned: bool, is_bounded: bool) -> None:
        self.name, self.is_tuned, self.is_bounded = name, is_tuned, is_bounded

    def prepare(self, place: Place) -> None:
        self._topic = place.topic
        self._session = tuned_session(place.spark) if self.is_tuned else stock_session(place.spark)
        self.table = DeltaCopy(place, self.name) if self.is_tuned else stock_copy(place, self.name)

    def run(self, sent: Sent) -> Timing:
        activate(self._session)
        with timed() as timing:
            changes = latest(decoded(self._session, self._topic, sent.planned))
            (
                DeltaTable.forPath(self._session, str(self.table.path))
                .alias("t")
                .merge(changes.alias("s"), condition(sent, is_bounded=self.is_bounded))
                .whenMatchedUpdateAll()
                .whenNotMatchedInsertAll()
                .execute()
            )
        return timing


class Append:
    """Decode and append: the floor, below which nothing that reads Kafka and writes Delta with Spark can be."""

    name = "append"
    is_bounded = False
    in_jvm = True
    table: DeltaCopy

    def prepare(self, place: Place) -> None:
        self._topic = place.topic
        self._session = tuned_session(place.spark)
        self.table = DeltaCopy(place, self.name)

    def run(self, sent: Sent) -> Timing:
        activate(self._session)
        with timed() as timing:
            events = decoded(self._session, self._topic, sent.planned)
            events.select(*COLUMNS).write.format("delta").mode("append").save(str(self.table.path))
        timing.candidates = 0
        return timing
