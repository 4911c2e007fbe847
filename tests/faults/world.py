"""One topic and one table that jobs are killed over, and all that is needed to say whether they survived it."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka import Producer as KafkaProducer

from tests.faults.events import BY_POSITION, BY_VERSION, KEYS, NOON, PARTITIONS, Order, Producer, Shares
from tests.faults.model import Difference, Record, Row, committed, compare, expected
from tests.faults.victim import PATIENCE_SECONDS, Victim
from tests.support.broker import Broker
from tests.support.commands import ROOT, SHORT_LIVED

MAX_RECORDS = 150
# They give compaction something to do.
SMALL_FILES = "-Dspark.sql.files.maxRecordsPerFile=25"
BASE: list[Row] = [(key, f"p{key % 4}", 0, 0.5) for key in range(0, KEYS, 2)]


class World:
    """A folder, a topic, a table; jobs run on them through the scripts of `home`, a clone of the project."""

    def __init__(
        self,
        folder: Path,
        broker: Broker,
        *,
        seed: int,
        home: Path = ROOT,
        shares: Shares = Shares(),  # noqa: B008  frozen
        order: Order = BY_VERSION,
        keys: int = KEYS,
        max_records: int = MAX_RECORDS,
        java: str = f"{SHORT_LIVED} {SMALL_FILES}",
    ) -> None:
        self.folder, self.broker, self.home = folder, broker, home
        self.table = folder / "table"
        self._java = java
        # The records' times are fixed ones of the past: retention would take them away.
        self.topic = broker.create_topic(partitions=PARTITIONS, config={"retention.ms": "-1"})
        self._order = order
        self._producer = Producer(seed, shares, order, keys=keys)
        (folder / "pipelines").mkdir(parents=True)
        (folder / "log").mkdir()
        (folder / "pipelines" / "drill.toml").write_text(order.pipeline(max_records))

    @property
    def environment(self) -> dict[str, str]:
        return {
            "ALLUVIUM_MASTER": "local[2]",
            "ALLUVIUM_PIPELINES": str(self.folder / "pipelines"),
            "ALLUVIUM_LOG_DIR": str(self.folder / "log"),
            "ALLUVIUM_REPORT_DIR": str(self.folder / "reports"),
        }

    def load(self, table: Path | None = None) -> None:
        """The base load, by its own job."""
        base = self.folder / "base"
        if not base.exists():
            base.mkdir()
            pq.write_table(base_rows(), base / "base.parquet")
        arguments = ["--pipeline", "drill", str(base), str(table or self.table)]
        self.complete(self.start("temperatures_delta_processing", arguments))

    def produce(self, count: int) -> None:
        producer = KafkaProducer({"bootstrap.servers": self.broker.address, "enable.idempotence": True, "log_level": 0})
        failed: list[object] = []
        for sent in self._producer.events(count):
            producer.produce(
                self.topic,
                key=sent.key,
                value=sent.value,
                partition=sent.partition,
                timestamp=int(sent.time.timestamp() * 1000),
                on_delivery=lambda error, _: error and failed.append(error),
            )
            producer.poll(0)
        assert producer.flush(60) == 0
        assert not failed

    def merge(self, mode: str, *, fault: str | None = None, table: Path | None = None) -> Victim:
        how = ["--mode", "batch", "--once"] if mode == "batch" else ["--mode", "stream"]
        where = ["--pipeline", "drill", str(table or self.table), self.broker.address, self.topic]
        return self.start("streaming_merge", [*how, *where], fault=fault)

    def compact(self, *, fault: str | None = None) -> Victim:
        return self.start(
            "maintenance", ["compact", "--all", "--execute", str(self.table)], fault=fault, java=SHORT_LIVED
        )

    def start(self, job: str, arguments: list[str], *, fault: str | None = None, java: str | None = None) -> Victim:
        command = [str(self.home / "submit" / f"{job}.sh"), *arguments]
        environment = self.environment | {"ALLUVIUM_DRIVER_JAVA_OPTIONS": self._java if java is None else java}
        return Victim(command, home=self.home, environment=environment, fault=fault)

    def complete(self, job: Victim, seconds: float = PATIENCE_SECONDS) -> None:
        code = job.wait(seconds)
        assert code == 0, f"exit code {code}: {job.output[-2000:]}"

    def difference(self, table: Path | None = None) -> Difference:
        """Between the table and the model of what the table says it has read: at any moment, also between two kills."""
        table = table or self.table
        stands = committed(table)
        by_position = self._order is BY_POSITION
        wanted = expected(BASE, filter(stands.covers, self.records()), by_position=by_position)
        return compare(wanted, table, stands.seq)

    def unread(self, table: Path | None = None) -> int:
        """Records that the topic has and the table has not read."""
        stands = committed(table or self.table)
        return sum(1 for record in self.records() if not stands.covers(record))

    def records(self) -> list[Record]:
        """The whole topic, as a plain consumer sees it."""
        settings = {"bootstrap.servers": self.broker.address, "group.id": "model", "enable.auto.commit": False}
        consumer = Consumer(settings | {"log_level": 0})
        try:
            places = [TopicPartition(self.topic, partition, 0) for partition in range(PARTITIONS)]
            wanted = sum(consumer.get_watermark_offsets(place, timeout=30)[1] for place in places)
            consumer.assign(places)
            found: list[Record] = []
            while len(found) < wanted:
                messages = consumer.consume(min(10_000, wanted - len(found)), timeout=30)
                assert messages, f"{len(found)} of {wanted} records came"
                found += [as_record(message) for message in messages]
        finally:
            consumer.close()
        return found

    def data_files(self, suffix: str = "") -> set[Path]:
        """The Parquet files of the table; a folder that goes meanwhile, as a stream's checkpoint does, has none."""
        folder = self.table.with_name(self.table.name + suffix)
        return {
            Path(where) / name for where, _, names in os.walk(folder) for name in names if name.endswith(".parquet")
        }


def as_record(message: Message) -> Record:
    time = datetime.fromtimestamp(message.timestamp()[1] / 1000, UTC)
    return Record(message.partition(), message.offset(), message.key(), message.value(), time)


def base_rows() -> pa.Table:
    columns = list(zip(*BASE, strict=True))
    return pa.table(
        {
            "id": pa.array(columns[0], pa.int64()),
            "part": pa.array(columns[1], pa.string()),
            "version": pa.array(columns[2], pa.int64()),
            "at": pa.array([NOON] * len(BASE), pa.timestamp("us", "UTC")),
            "degrees": pa.array(columns[3], pa.float64()),
        }
    )
