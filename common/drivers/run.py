"""A run of either driver: recover from the last run, settle batches, and report each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

import structlog
from pyspark.sql import DataFrame, SparkSession

from common import stop
from common.engine.batch import run_batch
from common.engine.disk_full import space_needed
from common.engine.run_report import RunReport
from common.engine.source import KafkaSource, SharedSource, Source
from common.engine.stage_timer import StageTimer
from common.engine.start import RunState, recover
from common.engine.targets import Target, plan_next
from common.errors import ConfigurationError
from common.faults import fault_point
from common.kafka.retention_watch import ExpiryWatch
from common.model.offsets import Available, Plan
from common.model.shared_plan import SharedPlan
from common.present.console import print_rows
from common.settings.pipeline import Pipeline
from common.spark.jvm import cache_jvm_classes
from common.spark.source import read_range

log = structlog.get_logger()


class Run:
    """One run of a driver. Each read feeds the targets that are at the same position."""

    def __init__(self, spark: SparkSession, starts: Sequence[RunState], *, mode: str) -> None:
        cache_jvm_classes(spark)
        self.spark = spark
        self.targets = [Target(start.context, start.position) for start in starts]
        for target, start in zip(self.targets, starts, strict=True):
            target.tell()
            with space_needed(start.context.table):
                recover(spark, start)
        # All targets read through the same client.
        self.topic = starts[0].context.topic
        self._expiry = ExpiryWatch(self.topic)
        self._report = RunReport(
            mode=mode,
            tables=[(target.context.pipeline.name, str(target.context.table)) for target in self.targets],
            topic=",".join(self.topic.names),
        )

    @property
    def pipelines(self) -> list[Pipeline]:
        return [target.context.pipeline for target in self.targets]

    def plan(self, available: Available) -> SharedPlan:
        return plan_next(self.targets, available)

    def read(self, planned: Plan) -> DataFrame:
        """Read the rows of a plan by Spark, in batch mode."""
        return read_range(self.spark, self.topic, planned)

    def bring_up(self, available: Available) -> None:
        """Settle the targets that are behind until all are where the furthest is."""
        while len((shared := self.plan(available)).targets) < len(self.targets):
            stop.check()
            self.settle(shared, self.spark, partial(self.read, shared.planned), StageTimer())

    def settle(
        self, shared: SharedPlan, spark: SparkSession, by_spark: Callable[[], DataFrame], times: StageTimer
    ) -> None:
        """Settle one read into each of its targets, one commit a table."""
        self._expiry.look(shared.planned)
        source = KafkaSource(spark, self.topic, self.targets[0].context.limits, by_spark)
        if len(shared.targets) == 1:
            self._settle_target(shared.targets[0], shared.planned, source, times)
            return
        once = SharedSource(source, shared.planned)
        for number in shared.targets:
            self._settle_target(number, shared.planned, once, times)
            times = StageTimer()
        once.release()

    def _settle_target(self, number: int, read: Plan, source: Source, times: StageTimer) -> None:
        """Settle one batch into its table. The commit stands whether or not the report can be written."""
        target = self.targets[number]
        target.tell()
        planned = read.of(target.context.topic_ids)
        with space_needed(target.context.table):
            result = run_batch(target.context, target.position, planned, source, times)
        target.position = result.position
        print_rows(result.rows_read)
        log.info("settled", seq=result.position.seq, **result.figures())
        self._report.add(result, number)
        fault_point("reported")

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Write into the report how the run ended. A signal waits until a batch can be left."""
        try:
            with stop.deferred(), space_needed(self.targets[0].context.table):
                yield
        except stop.Stopped as stopped:
            batches = self._report.batches
            told = stop.Stopped(
                stopped.by,
                f"after {batches} batch{'' if batches == 1 else 'es'}",
                "the next start goes on from the table",
            )
            with suppress(ConfigurationError):
                self._report.close(told)
            raise told from None
        except BaseException as error:
            with suppress(ConfigurationError):  # How the run ended matters more than the failed report.
                self._report.close(error)
            raise
        self._report.close(None)
