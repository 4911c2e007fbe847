"""One table and one topic, driven by hand inside this process."""

import json
import shutil
from pathlib import Path
from typing import Any

from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.open_ledger import open_ledger
from common.drivers.batch_loop import BatchLoop
from common.drivers.stream import Stream, Trigger
from common.engine.start import Inputs, RunState, start_from_table
from common.kafka.topic import TopicClient
from common.merge.strategies import STRATEGIES
from common.model.limits import DEFAULT_LIMITS
from common.model.offsets import TopicPartition
from common.model.position import Position
from common.operations.base_load import load_base
from common.operations.rewind import act_on_proposal, at_choice
from common.settings.kafka_security import access
from common.settings.locations import Location, location
from common.settings.pipeline import Pipeline
from tests.support.broker import Broker
from tests.support.frames import frame

BASE = [(1, "a", 1.0), (2, "a", 2.0)]
Rows = set[tuple[int, str, float | None]]


def pipeline(
    topic: str,
    *,
    max_records: int = 100,
    source: dict[str, Any] | None = None,
    target: dict[str, Any] | None = None,
    **parts: Any,
) -> Pipeline:
    return Pipeline.model_validate(
        {
            "name": "trial",
            "source": {
                "topic": topic,
                "columns": {"id": "bigint", "part": "string", "degrees": "double"},
                "max_records_per_batch": max_records,
            }
            | (source or {}),
            "target": {"keys": ["id", "part"], "partition_by": ["part"]} | (target or {}),
            **parts,
        }
    )


def event(identity: int, part: str, degrees: float | None, **more: str) -> tuple[bytes, bytes]:
    key = json.dumps({"id": identity, "part": part}).encode()
    return key, json.dumps({"id": identity, "part": part, "degrees": degrees, **more}).encode()


def tombstone(identity: int, part: str) -> tuple[bytes, None]:
    return event(identity, part, None)[0], None


def load_trial_base(spark: SparkSession, folder: Path) -> Path:
    """A table of the base rows, loaded once and copied for each trial."""
    frame(spark, BASE, "id bigint, part string, degrees double").write.parquet(str(folder / "base"))
    load_base(spark, pipeline("any"), location(f"{folder}/base"), location(f"{folder}/table"), overwrite=False)
    return folder / "table"


def drained(driver: BatchLoop | Stream) -> Position:
    """Everything that the topic held when the run began."""
    if isinstance(driver, Stream):
        driver.follow(Trigger())
    else:
        driver.drain()
    return driver.run.targets[0].position


class Trial:
    """One table and one topic, driven by hand."""

    def __init__(self, spark: SparkSession, broker: Broker, topic: str, folder: Path, loaded: Path) -> None:
        self.spark, self.broker, self.topic = spark, broker, topic
        self.pipeline = pipeline(topic)
        self.patience_seconds = 10.0
        self.check_pruning = False
        self.limits, self.strategies = DEFAULT_LIMITS, STRATEGIES
        self.table: Location = location(str(folder / "table"))
        shutil.copytree(loaded, folder / "table")

    def adopt(self, path: str) -> None:
        """Go on with a table of another writer, from the beginning of the topic."""
        self.table = location(path)
        act_on_proposal(self.spark, self.inputs(), at_choice("beginning"), execute=True)

    def start(self) -> RunState:
        return start_from_table(self.spark, self.inputs())

    def run(self, mode: str) -> Position:
        return drained(self.driver(mode))

    def driver(self, mode: str) -> BatchLoop | Stream:
        """A run that has begun and read nothing yet."""
        start = self.start()
        return Stream(self.spark, start) if mode == "stream" else BatchLoop(self.spark, start)

    def inputs(self) -> Inputs:
        allowed = access(self.pipeline.source.kafka)
        topic = TopicClient(self.broker.address, self.topic, access=allowed, timeout_seconds=self.patience_seconds)
        return Inputs(self.pipeline, self.table, topic, self.check_pruning, self.limits, self.strategies)

    def partition(self, number: int) -> TopicPartition:
        return TopicPartition(self.topic, number)

    def rows(self) -> Rows:
        rows = self.spark.read.format("delta").load(self.table.uri).select("id", "part", "degrees").collect()
        assert len(rows) == len(set(rows)), "a row stands twice"
        return {tuple(row) for row in rows}

    def quarantined(self) -> list[tuple[Any, ...]]:
        path = f"{self.table.uri}_quarantine"
        if not DeltaTable.isDeltaTable(self.spark, path):
            return []
        columns = ["epoch", "seq", "reason", "topic", "partition", "offset", "key", "value"]
        rows = self.spark.read.format("delta").load(path).select(*columns).orderBy("partition", "offset").collect()
        return [tuple(bytes(cell) if isinstance(cell, bytearray) else cell for cell in row) for row in rows]

    def version(self) -> int:
        """The newest in the log."""
        return max(int(entry.stem) for entry in Path(str(self.table.local), "_delta_log").glob("*.json"))

    def position(self) -> Position:
        return open_ledger(self.spark, self.table.uri, "trial").position()
