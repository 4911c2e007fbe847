"""Use Java and Scala from Python. This is the only module that knows PySpark's private handles.

A batch makes thousands of calls, and each is a message to the JVM. So these functions make as few as possible.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from py4j.java_gateway import JavaMember
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, Observation, SparkSession


def java(spark: SparkSession, name: str) -> Any:
    """Return a class by its whole name. `_jvm.java.util.ArrayList` would ask the JVM for each part of the name."""
    return cached_class(spark._jvm, name)


@cache
def cached_class(jvm: Any, name: str) -> Any:
    return getattr(jvm, name)


def java_session(spark: SparkSession) -> Any:
    """Return the JVM's SparkSession."""
    return spark._jsparkSession


def java_frame(rows: DataFrame) -> Any:
    """Return the JVM's Dataset."""
    return cast("Any", rows)._jdf


def spark_context(spark: SparkSession) -> Any:
    """Return the JVM's SparkContext."""
    return spark.sparkContext._jsc.sc()


def hadoop_conf(spark: SparkSession) -> Any:
    """Return the Hadoop configuration of this session, which has the settings of file systems."""
    return spark._jsparkSession.sessionState().newHadoopConf()


def delta_log(spark: SparkSession, path: str) -> Any:
    """Return Delta's own DeltaLog of a table. Delta keeps one for each table."""
    return java(spark, "org.apache.spark.sql.delta.DeltaLog").forTable(spark._jsparkSession, path)


def delta_snapshot(spark: SparkSession, path: str) -> Any:
    """Return Delta's newest snapshot of a table, after an update from its log."""
    log_and_snapshot = java(spark, "org.apache.spark.sql.delta.DeltaLog").forTableWithSnapshot(
        spark._jsparkSession, path
    )
    return log_and_snapshot._2()


def java_observation(observation: Observation) -> Any:
    """Return the JVM's Observation."""
    return cast("Any", observation)._jo


def java_gateway() -> Any:
    """Return py4j's connection to the JVM of this process; None before a session was started."""
    return cast("Any", SparkContext._gateway)


def gateway_with_callbacks() -> Any:
    """Return the connection that the session will use too, and let the JVM call Python by it. Start it if need be."""
    SparkContext._ensure_initialized()
    gateway = java_gateway()
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    return gateway


def running_jvm() -> Any | None:
    """Return the JVM of this process's Spark; None before a session was started."""
    context = SparkContext._active_spark_context
    return None if context is None else context._jvm


def cache_jvm_classes(spark: SparkSession) -> None:
    """Look up once the classes that PySpark asks for in each call of a DataFrame's function.

    Otherwise the JVM would search all packages that it knows in each of these calls.
    """
    for name in ("PythonUtils", "functions", "org.apache.spark.sql.functions"):
        setattr(spark._jvm, name, getattr(spark._jvm, name))


def java_message(error: Py4JJavaError) -> str:
    """Return the first line of a Java error's message."""
    cause = error.java_exception
    return str(cause.getMessage() or cause.toString()).splitlines()[0]


def items_of(seq: Any) -> list[Any]:
    """Return the items of a Scala sequence by index, because an iteration ends with an exception, which takes long."""
    return [seq.apply(index) for index in range(seq.size())]


def iterated(iterator: Any) -> Iterator[Any]:
    """Yield the items of a Java iterator, and raise each Java error as it is.

    py4j's own `next` takes every error for the end of the iteration. Inside of a generator that becomes a RuntimeError
    without any cause.
    """
    following = JavaMember("next", iterator, iterator._target_id, iterator._gateway_client)
    while iterator.hasNext():
        yield following()


def cached_bytes(rows: DataFrame) -> int:
    """Bytes that a locally checkpointed DataFrame takes on the executors, memory and disk."""
    number = checkpoint_of(rows).id()
    stored = spark_context(rows.sparkSession).getRDDStorageInfo()
    return sum(int(each.memSize() + each.diskSize()) for each in stored if each.id() == number)


def unpersist_checkpoint(rows: DataFrame) -> None:
    """Free what a local checkpoint has computed."""
    checkpoint_of(rows).unpersist(False)  # noqa: FBT003


def checkpoint_of(rows: DataFrame) -> Any:
    return java_frame(rows).queryExecution().analyzed().rdd()
