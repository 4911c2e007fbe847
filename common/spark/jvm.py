"""Java and Scala from Python, with as few calls as it takes: a batch makes thousands of them, and each is a message."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from py4j.java_gateway import JavaMember
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession


def java(spark: SparkSession, name: str) -> Any:
    """A class by its whole name. `_jvm.java.util.ArrayList` would ask the JVM for each part of it."""
    return cached_class(spark._jvm, name)


@cache
def cached_class(jvm: Any, name: str) -> Any:
    return getattr(jvm, name)


def running_jvm() -> Any | None:
    """The JVM of this process's Spark; None before a session was started."""
    context = SparkContext._active_spark_context
    return None if context is None else context._jvm


def cache_jvm_classes(spark: SparkSession) -> None:
    """Spark's own Python asks for them again in each call of a DataFrame's function, and each time the JVM would search
    all packages that it knows."""
    for name in ("PythonUtils", "functions", "org.apache.spark.sql.functions"):
        setattr(spark._jvm, name, getattr(spark._jvm, name))


def said(error: Py4JJavaError) -> str:
    """The first line of what Java said."""
    cause = error.java_exception
    return str(cause.getMessage() or cause.toString()).splitlines()[0]


def scala_object(spark: SparkSession, name: str) -> Any:
    return getattr(java(spark, f"{name}$"), "MODULE$")


def scala_seq(spark: SparkSession, items: Iterable[Any]) -> Any:
    listed = java(spark, "java.util.ArrayList")()
    for item in items:
        listed.add(item)
    return java(spark, "org.apache.spark.api.python.PythonUtils").toSeq(listed)


def items_of(seq: Any) -> list[Any]:
    """Of a Scala sequence, by index: an iteration ends with an exception, which takes longer than the rest."""
    return [seq.apply(index) for index in range(seq.size())]


def iterated(iterator: Any) -> Iterator[Any]:
    """The items of a Java iterator, with each Java error as it is.

    py4j's own `next` takes every error for the end of the iteration, and inside of a generator that becomes a
    RuntimeError without any cause.
    """
    following = JavaMember("next", iterator, iterator._target_id, iterator._gateway_client)
    while iterator.hasNext():
        yield following()


def cached_bytes(rows: DataFrame) -> int:
    """By the executors, in memory and on disk, of rows that a local checkpoint has computed."""
    number = checkpoint_of(rows).id()
    stored = rows.sparkSession.sparkContext._jsc.sc().getRDDStorageInfo()
    return sum(int(each.memSize() + each.diskSize()) for each in stored if each.id() == number)


def unpersist_checkpoint(rows: DataFrame) -> None:
    """Of rows that a local checkpoint has computed, and that nobody needs any more."""
    checkpoint_of(rows).unpersist(False)  # noqa: FBT003


def checkpoint_of(rows: DataFrame) -> Any:
    return rows._jdf.queryExecution().analyzed().rdd()
