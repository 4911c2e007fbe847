"""One JVM for all contenders, and a session for each: its settings are all that differs."""

from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from tests.support.commands import ROOT, jars, spark_properties

# More than any contender needs: how much ours can do with is tried on its own, with spark-submit.
HEAP = "6g"
ICEBERG_CATALOG = "ice"
STOCK = {
    "spark.sql.shuffle.partitions": "200",
    "spark.databricks.delta.snapshotPartitions": "50",
    "spark.sql.ansi.enabled": "true",
}
# What py4j needs to ask the JVM's own memory pools.
OPENED = "--add-opens=java.management/sun.management=ALL-UNNAMED"


def start_spark(folder: Path) -> SparkSession:
    """The settings of conf/local.conf, on two cores, with Iceberg's jar and catalog besides."""
    builder = SparkSession.builder.appName("bench")
    for key, value in (spark_properties("local") | of_bench(folder)).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def of_bench(folder: Path) -> dict[str, str]:
    log4j = f"-Dlog4j2.configurationFile=file:{ROOT}/conf/log4j2.properties -Dalluvium.log={folder}/spark.log"
    catalog = f"spark.sql.catalog.{ICEBERG_CATALOG}"
    return {
        "spark.jars": ",".join(map(str, jars("spark", "kernel", "iceberg"))),
        "spark.driver.extraJavaOptions": f"-Dalluvium.run=bench {OPENED} {log4j}",
        "spark.driver.memory": HEAP,
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.local.dir": str(folder / "scratch"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": f"file://{folder}/iceberg",
    }


def new_session(spark: SparkSession, settings: dict[str, str]) -> SparkSession:
    session = spark.newSession()
    for key, value in settings.items():
        session.conf.set(key, value)
    return session


def activate(session: SparkSession) -> None:
    """Delta takes what is not said otherwise, its snapshots' partitions for one, from the thread's active session."""
    jvm = cast("Any", session._jvm)
    jvm.org.apache.spark.sql.classic.SparkSession.setActiveSession(session._jsparkSession)
