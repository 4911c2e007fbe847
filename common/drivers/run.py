"""What both drivers share: a run takes over from the last one, settles batches, and tells of each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import structlog
from pyspark.sql import DataFrame, SparkSession

from common import stop
from common.engine.batch import run_batch
from common.engine.disk_full import space_needed
from common.engine.run_report import RunReport
from common.engine.source import KafkaSource
from common.engine.stage_timer import StageTimer
from common.engine.start import RunState, recover
from common.errors import ConfigurationError
from common.faults import fault_point
from common.kafka.retention_watch import ExpiryWatch
from common.model.offsets import Plan
from common.present.console import print_rows
from common.spark.jvm import cache_jvm_classes

log = structlog.get_logger()


class Run:
    """One run of a driver; `position` is always the last that the table has committed."""

    def __init__(self, spark: SparkSession, start: RunState, *, mode: str) -> None:
        cache_jvm_classes(spark)
        with space_needed(start.context.table):
            recover(spark, start)
        self.spark = spark
        self.context = start.context
        self.topic = start.context.topic
        self.pipeline = start.context.pipeline
        self.position = start.position
        self._expiry = ExpiryWatch(self.topic)
        self._report = RunReport(
            mode=mode, pipeline=self.pipeline.name, table=str(start.context.table), topic=self.topic.name
        )

    def settle(self, planned: Plan, spark: SparkSession, by_spark: Callable[[], DataFrame], times: StageTimer) -> None:
        """One batch into the table. The report is no part of it: the commit stands whether or not it is written."""
        self._expiry.look(planned)
        source = KafkaSource(spark, self.topic, self.context.limits, by_spark)
        with space_needed(self.context.table):
            result = run_batch(self.context, self.position, planned, source, times)
        self.position = result.position
        print_rows(result.rows_read)
        log.info("settled", seq=result.position.seq, **result.figures())
        self._report.add(result)
        fault_point("reported")

    @contextmanager
    def reported(self) -> Iterator[None]:
        """The report's last word: how the run ended. A signal is waited with until a batch can be left."""
        try:
            with stop.deferred(), space_needed(self.context.table):
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
            with suppress(ConfigurationError):  # How the run ended matters more than that nobody could write it down.
                self._report.close(error)
            raise
        self._report.close(None)
