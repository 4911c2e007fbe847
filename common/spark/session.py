"""The only place where a Spark session is built; its properties come from conf/ENVIRONMENT.conf through submit/."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from common import stop


def start_session(name: str) -> SparkSession:
    """Start the session of a job. From now on a request to stop cancels Spark's jobs, unless the work defers it."""
    with stop.deferred():
        with interrupts_kept():
            spark = SparkSession.builder.appName(name).getOrCreate()
        stop.cancel_by(lambda: cancel_jobs(spark))
    stop.check()
    return spark


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Keep our handler of SIGINT, which a new SparkContext replaces by its own.

    That one would raise in the midst of a call to the JVM, and release our locks while the JVM still works.
    """
    ours = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, ours)


def cancel_jobs(spark: SparkSession) -> None:
    # Where the JVM has ended, its jobs have too.
    with suppress(Py4JError, OSError):
        spark.sparkContext.cancelAllJobs()


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Set Spark confs for the block, and restore the former values."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, former in before.items():
            if former is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, former)
