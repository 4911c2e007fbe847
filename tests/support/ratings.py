"""The ratings pipeline on a table, a topic and a subject of its own, and a plain-Python model of its table."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.open_ledger import open_ledger
from common.drivers.batch_loop import BatchLoop
from common.drivers.stream import Stream
from common.engine.run_report import Counts, read_report
from common.engine.start import Inputs, start_from_table
from common.kafka.topic import TopicClient
from common.model.position import Position
from common.operations.base_load import load_base
from common.produce.ratings import Serialize, serializers, to_records
from common.settings.load import read_pipeline
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from datasets.ratings.events import Event
from datasets.ratings.expectation import Row
from datasets.ratings.schemas import VERSIONS, schema
from tests.support.broker import Broker
from tests.support.frames import frame
from tests.support.trial import drained

# A producer's queue has room for some more than these.
QUEUE = 50_000


def of_topic(pipeline: Pipeline, url: str, subject: str, **parts: Any) -> Pipeline:
    """The pipeline's own file, with another registry and subject."""
    registry = pipeline.source.registry.model_copy(update={"url": url, "subject": subject})  # type: ignore[union-attr]
    source = pipeline.source.model_copy(update={"registry": registry, **parts})
    return pipeline.model_copy(update={"source": source})


class Ratings:
    """Driven by hand."""

    def __init__(self, spark: SparkSession, broker: Broker, url: str, folder: Path, **source: Any) -> None:
        self.spark, self.broker, self.folder = spark, broker, folder
        self.topic = broker.create_topic(config={"retention.ms": "-1"})
        self.serialize = serializers(url, self.topic, {version: schema(version) for version in VERSIONS}, 10)
        self.pipeline = of_topic(read_pipeline("ratings"), url, self.subject, **source)
        self.table = location(str(folder / "movie_ratings"))
        self.check_pruning = False
        frame(spark, [], self.pipeline.source.ddl).write.parquet(str(folder / "nothing"))
        load_base(spark, self.pipeline, location(str(folder / "nothing")), self.table, overwrite=False)

    @property
    def subject(self) -> str:
        return f"{self.topic}-value"

    def produce(self, events: Iterable[Event], serialize: Mapping[int, Serialize] | None = None) -> None:
        records = list(to_records(events, serialize or self.serialize))
        for first in range(0, len(records), QUEUE):
            self.broker.produce(self.topic, records[first : first + QUEUE])

    def driver(self, mode: str = "batch") -> BatchLoop | Stream:
        topic = TopicClient(self.broker.address, self.topic)
        start = start_from_table(self.spark, Inputs(self.pipeline, self.table, topic, self.check_pruning))
        return Stream(self.spark, start) if mode == "stream" else BatchLoop(self.spark, start)

    def run(self, mode: str = "batch") -> Position:
        return drained(self.driver(mode))

    def rows(self) -> dict[str, Row]:
        columns = self.pipeline.columns
        found = self.spark.read.format("delta").load(self.table.uri).select(*columns).collect()
        assert len(found) == len({row["event_id"] for row in found}), "an event stands twice"
        return {row["event_id"]: tuple(row) for row in found}

    def quarantined(self) -> list[tuple[str, str, bytes]]:
        """Reason, message and value of each, in the order of their offsets."""
        path = f"{self.table.uri}_quarantine"
        if not DeltaTable.isDeltaTable(self.spark, path):
            return []
        rows = self.spark.read.format("delta").load(path).orderBy("partition", "offset").collect()
        return [(row["reason"], row["message"], bytes(row["value"])) for row in rows]

    def position(self) -> Position:
        return open_ledger(self.spark, self.table.uri, self.pipeline.name).position()


def totals(reports: Path) -> Counts:
    """Of the last run, as its report has them."""
    (report,) = reports.glob("*.json")
    return read_report(report).totals
