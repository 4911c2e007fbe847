"""A real broker and a real Delta table, driven by the same orders as the simulated ones."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NoReturn
from unittest.mock import patch

from confluent_kafka import Producer
from delta.tables import DeltaTable
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from common.delta.empty_commit import commit_empty
from common.delta.format.log_entry import parse_commit
from common.delta.ledger import Ledger
from common.engine import batch, commit
from common.engine.start import Inputs
from common.errors import AlluviumError
from common.kafka.topic import TopicClient
from common.operations import rewind as operator
from common.operations.base_load import load_base
from common.operations.rewind import Choice, act_on_proposal, at_choice, rewind_choice
from common.settings.locations import location
from common.spark.session import settings
from tests.support.broker import Broker
from tests.support.partitions import numbered
from tests.support.protocol import (
    AFTER_COPY,
    ANSWER_LOST,
    BEFORE_COMMIT,
    BEFORE_COPY,
    RESTORED_MEANWHILE,
    RIVAL,
    Crash,
    Record,
    Seen,
    TopicTruth,
)
from tests.support.trial import Trial, event, pipeline
from tests.support.waiting import await_true

PART = "b"
# A record's generation, partition and offset as one key; the base rows have keys below all of these.
GENERATION, PARTITION = 1_000_000, 10_000
FIRST = 100
PATIENCE_SECONDS = 30
SKIP_EMPTY = "spark.databricks.delta.skipRecordingEmptyCommits"


class RealWorld:
    """A topic of its own and a copy of the loaded table for each example."""

    def __init__(self, spark: SparkSession, broker: Broker, folder: Path, loaded: Path, truth: TopicTruth) -> None:
        self.spark, self.broker, self.truth, self.folder, self.loaded = spark, broker, truth, folder, loaded
        self.topic = broker.create_topic(partitions=len(truth.partitions))
        self._await_topic()
        self.trial = Trial(spark, broker, self.topic, folder, loaded)

    def close(self) -> None:
        self.broker.delete_topic(self.topic)
        shutil.rmtree(self.folder)

    # The topic

    def produce(self, partition: int, offsets: list[int], *, marker: bool) -> None:
        keys = [self.truth.generation * GENERATION + partition * PARTITION + offset + FIRST for offset in offsets]
        records = [event(key, PART, 0.0) for key in keys]
        if not marker:
            self.broker.produce(self.topic, records, partition)
            return
        producer = Producer({"bootstrap.servers": self.broker.address, "transactional.id": self.topic})
        producer.init_transactions(30)
        producer.begin_transaction()
        for key, value in records:
            producer.produce(self.topic, key=key, value=value, partition=partition)
        producer.commit_transaction(30)
        self._await_topic()

    def truncate(self, partition: int, before: int) -> None:
        self.broker.delete_records(self.topic, partition, before=before)
        self._await_topic()

    def add_partition(self) -> None:
        self.broker.add_partitions(self.topic, len(self.truth.partitions))
        self._await_topic()

    def recreate(self) -> None:
        self.broker.recreate_topic(self.topic, partitions=len(self.truth.partitions))
        self._await_topic()

    def _await_topic(self) -> None:
        """The broker answers before its partitions have leaders, and before a transaction's marker is written."""
        await_true(self._topic_is_as_told, "the topic as it should be", PATIENCE_SECONDS)

    def _topic_is_as_told(self) -> bool:
        try:
            found = TopicClient(self.broker.address, self.topic).available()
        except AlluviumError:
            return False
        told = (self.truth.ends(), self.truth.earliest())
        return (numbered(found.ends), numbered(found.earliest)) == told

    # The table, by others

    def restore(self, version: int) -> None:
        self._table().restoreToVersion(version)

    def overwrite(self) -> None:
        self._table().toDF().limit(0).write.format("delta").mode("overwrite").save(self.trial.table.uri)

    def rearrange(self) -> None:
        """Commit nothing. Delta records no commit without an action, unless it is told to."""
        with settings(self.spark, {SKIP_EMPTY: "false"}):
            commit_empty(self.spark, self.trial.table.uri)

    def expire(self) -> None:
        """What Delta's own clean-up leaves after a checkpoint: the newest entry."""
        deltalog = self.spark._jvm.org.apache.spark.sql.delta.DeltaLog
        deltalog.forTable(self.spark._jsparkSession, self.trial.table.uri).checkpoint()
        for entry in self._entries()[:-1]:
            entry.unlink()
        deltalog.clearCache()

    def lose_copies(self) -> None:
        shutil.rmtree(self._folder() / "_alluvium" / "trial", ignore_errors=True)

    # The drivers

    def run(self, mode: str, limit: int, fault: str | None) -> None:
        """The limit is eased: a real batch takes seconds."""
        self.trial.pipeline = pipeline(self.topic, max_records=limit + 8)
        with self._faulty(fault) as reached:
            try:
                self.trial.run(mode)
            except StreamingQueryException:
                # Spark gives what foreachBatch raised as text only.
                if not reached:
                    raise
                raise Crash from None

    @contextmanager
    def _faulty(self, fault: str | None) -> Iterator[list[str]]:
        """What happens at one of the fault points that both drivers pass, the first time; gives where it was."""
        point, happens = {
            BEFORE_COMMIT: ("merge", crash),
            BEFORE_COPY: ("checked", crash),
            AFTER_COPY: ("copied", crash),
            ANSWER_LOST: ("merge", self._lose_the_answer),
            RIVAL: ("accounted", lambda: self.trial.run("batch")),
            RESTORED_MEANWHILE: ("merge", self._restore_the_version_before),
        }.get(fault or "", ("", crash))
        reached: list[str] = []

        def pass_point(name: str) -> None:
            if name == point and not reached:
                reached.append(name)
                happens()

        with patch.object(batch, "fault_point", pass_point), patch.object(commit, "fault_point", pass_point):
            yield reached

    def _lose_the_answer(self) -> None:
        real = commit.write

        def write(*args: Any) -> None:
            commit.write = real
            real(*args)
            raise PySparkException("the answer is lost")

        commit.write = write

    def _restore_the_version_before(self) -> None:
        versions = [int(entry.stem) for entry in self._entries()]
        if len(versions) > 1:
            self.restore(versions[-2])

    # The operator

    def begin_epoch(self, at: str, fault: str | None) -> None:
        place = {BEFORE_COMMIT: (operator, "commit_empty"), BEFORE_COPY: (Ledger, "copy")}.get(fault or "")
        with patch.object(*place, crash) if place else nullcontext():
            self._act(at_choice(at))
        if fault == AFTER_COPY:
            raise Crash

    def rewind(self, partition: int, offset: int) -> None:
        named = f"{partition}={offset}"
        self._act(rewind_choice(to_time=None, to_offset=named, by=None, to_beginning=False))

    def _act(self, choice: Choice) -> None:
        given = Inputs(self.trial.pipeline, self.trial.table, TopicClient(self.broker.address, self.topic))
        act_on_proposal(self.spark, given, choice, execute=True)

    def load_again(self) -> None:
        base = location(str(self.loaded.parent / "base"))
        load_base(self.spark, self.trial.pipeline, base, self.trial.table, overwrite=True)

    # What the machine sees

    def rows(self) -> set[Record]:
        keys = [key for key, _, _ in self.trial.rows() if key >= FIRST]
        return {(key // GENERATION, key % GENERATION // PARTITION, key % PARTITION - FIRST) for key in keys}

    def seen_since(self, version: int) -> list[Seen]:
        return [seen(entry) for entry in self._entries() if int(entry.stem) > version]

    def _entries(self) -> list[Path]:
        return sorted((self._folder() / "_delta_log").glob("*.json"))

    def _folder(self) -> Path:
        return Path(str(self.trial.table))

    def _table(self) -> DeltaTable:
        return DeltaTable.forPath(self.spark, self.trial.table.uri)


def seen(entry: Path) -> Seen:
    found = parse_commit(int(entry.stem), entry.read_text())
    if not found.transactions:
        return Seen(None, 0, found.restored_version)
    claim, metrics = json.loads(found.info["userMetadata"])["offsets"], found.info.get("operationMetrics", {})
    # An append of ours tells its rows by another name than a MERGE.
    names = ("numTargetRowsInserted", "numTargetRowsUpdated", "numOutputRows")
    written = sum(int(metrics.get(name, 0)) for name in names)
    return Seen({int(partition): offset for partition, offset in claim.items()}, written)


def crash(*_: object) -> NoReturn:
    raise Crash
