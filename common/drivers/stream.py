"""The stream: readStream with foreachBatch. Spark's checkpoint is scratch: the table says where to go on."""

import re
from dataclasses import dataclass

import structlog
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from common.drivers.announce import announce_schemas, print_rows
from common.drivers.start import Start, take_over
from common.errors import AlluviumError, StateError, UsageError
from common.ledger.files import Files
from common.ledger.position import Position
from common.pipeline.batch import run_batch
from common.plan.offsets import Offsets, Plan, from_json, starting_offsets
from common.read.kafka import read_stream
from common.settings.environment import run_id

log = structlog.get_logger()
INTERVAL = re.compile(r"[1-9][0-9]* *(milliseconds?|seconds?|minutes?|hours?)")


@dataclass(frozen=True)
class Trigger:
    """Drain what is there and stop, or go on at an interval; exactly one of the two, as Spark wants it."""

    interval: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Trigger":
        """`available-now`, or an interval such as `10 seconds`."""
        if text == "available-now":
            return cls()
        if INTERVAL.fullmatch(text) is None:
            raise UsageError(f"trigger '{text}' is not known", "say available-now, or an interval such as '10 seconds'")
        return cls(text)

    def applied_to(self, writer: DataStreamWriter) -> DataStreamWriter:
        return (
            writer.trigger(availableNow=True) if self.interval is None else writer.trigger(processingTime=self.interval)
        )


class Stream:
    """One run of the stream; `position` is always the last that the table has committed."""

    def __init__(self, spark: SparkSession, start: Start) -> None:
        take_over(spark, start)
        self._spark = spark
        self._settling = start.settling
        self._topic = start.settling.topic
        self._begin = starting_offsets(start.position.offsets, start.available)
        self._failure: AlluviumError | None = None
        checkpoints = f"{self._settling.table}/_alluvium/{self._settling.pipeline.name}/checkpoint"
        # The job lock is held: whatever lies here is a dead run's.
        Files(spark, checkpoints).delete_all()
        self._checkpoint = f"{checkpoints}/{run_id()}"
        self.position: Position = start.position

    def run(self, trigger: Trigger) -> None:
        rows = read_stream(
            self._spark,
            self._topic.brokers,
            self._topic.name,
            self._begin,
            self._settling.pipeline.source.max_records_per_batch,
        )
        announce_schemas(rows, self._settling.pipeline)
        writer = rows.writeStream.foreachBatch(self._settle).option("checkpointLocation", self._checkpoint)
        query = trigger.applied_to(writer).start()
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            # Spark wraps what foreachBatch raised into text; the error itself knows its remedy and exit code.
            if self._failure is not None:
                raise self._failure from error
            self._topic.describe()
            raise
        Files(self._spark, self._checkpoint).delete_all()

    def _settle(self, rows: DataFrame, batch_id: int) -> None:
        try:
            self._settle_once(rows, batch_id)
        except AlluviumError as error:
            self._failure = error
            raise

    def _settle_once(self, rows: DataFrame, batch_id: int) -> None:
        planned = self._planned(batch_id)
        if is_settled(planned, self.position):
            return
        result = run_batch(self._settling, self.position, planned, rows)
        self.position = result.position
        print_rows(result.rows_read)
        log.info("settled", seq=result.position.seq, **result.figures())

    def _planned(self, batch_id: int) -> Plan:
        """What Spark planned, from its own log: never the least and greatest offset of the rows, which gaps falsify."""
        end = self._logged(batch_id)
        before = self._begin if batch_id == 0 else self._logged(batch_id - 1)
        return Plan({partition: before.get(partition, 0) for partition in end}, end)

    def _logged(self, batch_id: int) -> Offsets:
        text = Files(self._spark, f"{self._checkpoint}/offsets").read(str(batch_id))
        if text is None:
            raise StateError(
                f"Spark's checkpoint has lost batch {batch_id}", "start the job again: the table knows the position"
            )
        return from_json(self._topic.name, text.splitlines()[-1])


def is_settled(planned: Plan, position: Position) -> bool:
    """True for a batch that the table already has; a batch that begins anywhere but at the position is refused."""
    committed = (
        {partition: position.offsets.get(partition, 0) for partition in planned.end} if position.offsets else None
    )
    if committed is None:
        return False
    if all(end <= committed[partition] for partition, end in planned.end.items()):
        return True
    if dict(planned.start) != committed:
        raise StateError(
            f"the stream read from {dict(planned.start)}, the table stands at {committed}",
            "start the job again: it goes on from the table",
        )
    return False
