"""The stream: readStream with foreachBatch. Spark's checkpoint is scratch: the table says where to go on."""

import re
import threading
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from common import stop
from common.delta.small_files import Files
from common.drivers.run import Run
from common.engine.resume import is_already_committed, planned_by_spark
from common.engine.stage_timer import StageTimer
from common.engine.start import RunState
from common.engine.targets import Target, max_records
from common.errors import AlluviumError, StateError, UsageError
from common.model.offsets import Offsets, Plan, from_json
from common.model.shared_plan import SharedPlan
from common.present.console import announce_schemas
from common.settings.environment import run_id
from common.spark.source import read_stream

# The seconds between two checks for a request to stop.
LOOK_SECONDS = 1
INTERVAL = re.compile(r"[1-9][0-9]* *(milliseconds?|seconds?|minutes?|hours?)")


@dataclass(frozen=True)
class Trigger:
    """Spark's trigger: `availableNow`, or an interval of processing time."""

    interval: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Trigger":
        """Read `available-now`, or an interval such as `10 seconds`."""
        if text == "available-now":
            return cls()
        if INTERVAL.fullmatch(text) is None:
            raise UsageError(f"trigger '{text}' is not known", "say available-now, or an interval such as '10 seconds'")
        return cls(text)

    @property
    def ends_by_itself(self) -> bool:
        return self.interval is None

    def applied_to(self, writer: DataStreamWriter) -> DataStreamWriter:
        return (
            writer.trigger(availableNow=True) if self.interval is None else writer.trigger(processingTime=self.interval)
        )


class Stream:
    """One run of the stream."""

    def __init__(self, spark: SparkSession, *starts: RunState) -> None:
        self.run = Run(spark, starts, mode="stream")
        self._available = starts[0].available
        self._begin: Offsets = {}
        self._failure: BaseException | None = None
        self._under_way = threading.Lock()
        first = starts[0].context
        checkpoints = f"{first.table.uri}/_alluvium/{first.pipeline.name}/checkpoint"
        # The job lock is held, so these files are left from a dead run.
        Files(spark, checkpoints).delete_all()
        self._checkpoint = f"{checkpoints}/{run_id()}"

    def follow(self, trigger: Trigger) -> None:
        with self.run.reported():
            self._follow(trigger)
        Files(self.run.spark, self._checkpoint).delete_all()

    def _follow(self, trigger: Trigger) -> None:
        # A stream reads each partition from one place: all targets have to be there.
        self.run.bring_up(self._available)
        self._begin = self.run.plan(self._available).planned.start
        rows = read_stream(self.run.spark, self.run.topic, self._begin, max_records(self.run.targets))
        announce_schemas(rows, self.run.pipelines)
        writer = rows.writeStream.foreachBatch(self._settle).option("checkpointLocation", self._checkpoint)
        query = trigger.applied_to(writer).start()
        try:
            self._await_end(query)
        except StreamingQueryException as error:
            # Spark wraps what foreachBatch raised into pages of text; the error itself says what is wrong in a line,
            # and one of ours knows its remedy and exit code.
            if isinstance(self._failure, AlluviumError):
                raise self._failure from error
            for target in self.run.targets:
                target.tell()
                target.context.refuse_unreadable(target.position.offsets or self._begin)
            raise (self._failure or error) from error

    def _await_end(self, query: StreamingQuery) -> None:
        while not query.awaitTermination(LOOK_SECONDS):
            if stop.requested():
                # Spark would cancel the running batch. So the batch ends first, and no further one begins.
                with self._under_way:
                    pass
                query.stop()
        stop.check()

    def _settle(self, rows: DataFrame, batch_id: int) -> None:
        """Settle one batch of Spark's. A stop leaves it unsettled, although Spark's checkpoint counts it as done."""
        with self._under_way:
            if stop.requested():
                return
            try:
                self._settle_once(rows, batch_id)
            except stop.Stopped:
                return
            except BaseException as error:
                self._failure = error
                raise

    def _settle_once(self, rows: DataFrame, batch_id: int) -> None:
        times = StageTimer()
        with times.stage("plan"):
            planned = self._planned(batch_id)
        numbers = [number for number, target in enumerate(self.run.targets) if not has(target, planned)]
        if numbers:
            self.run.settle(SharedPlan(planned, numbers), rows.sparkSession, lambda: rows, times)

    def _planned(self, batch_id: int) -> Plan:
        """Read the plan of a batch from Spark's log. The offsets of its rows would leave out gaps at either end."""
        end = self._logged(batch_id)
        before = self._begin if batch_id == 0 else self._logged(batch_id - 1)
        return planned_by_spark(before, end)

    def _logged(self, batch_id: int) -> Offsets:
        try:
            text = Files(self.run.spark, f"{self._checkpoint}/offsets").read(str(batch_id)) or ""
            return from_json(text.splitlines()[-1])
        except (Py4JError, IndexError, KeyError, ValueError) as error:
            raise StateError(
                f"Spark's checkpoint has lost batch {batch_id} ({self._checkpoint}/offsets/{batch_id} is damaged)",
                "start the job again: the table knows the position",
            ) from error


def has(target: Target, planned: Plan) -> bool:
    """True where a target has the records of this plan that are of its topics, or where there are none."""
    target.tell()
    return is_already_committed(planned.of(target.context.topic_ids), target.position)
