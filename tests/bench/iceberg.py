"""Iceberg on the same Spark: tables of the same rows, and its MERGE INTO, copy-on-write and merge-on-read."""

import json
from typing import Any, Literal, cast

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.bench.bounds import Bound
from tests.bench.cells import Base
from tests.bench.contenders import Place, Sent, Timing, timed, tuned_session
from tests.bench.data import DeltaBase
from tests.bench.digest import SCHEMA
from tests.bench.files import Reach, Rewrite
from tests.bench.merges import condition, decoded, latest
from tests.bench.session import ICEBERG_CATALOG, activate

Mode = Literal["copy-on-write", "merge-on-read"]
BASES, COPIES = f"{ICEBERG_CATALOG}.bases", f"{ICEBERG_CATALOG}.copies"
# The third version of the format has deletion vectors: the best that merge-on-read can do.
FORMAT = "3"


def ensure_base(spark: SparkSession, delta: DeltaBase) -> str:
    """The table of the base, written once; creating it is one commit."""
    name = f"{BASES}.{word(delta.base.name)}_{delta.digest.rows}_{delta.digest.hashes}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {BASES}")
    if not spark.catalog.tableExists(name):
        rows = spark.read.format("delta").load(str(delta.path))
        spread = rows.repartition("month") if is_partitioned(delta.base) else rows
        writer = spread.writeTo(name).using("iceberg").tableProperty("format-version", FORMAT)
        (writer.partitionedBy(F.col("month")) if is_partitioned(delta.base) else writer).create()
    return name


def word(name: str) -> str:
    return name.replace("-", "_")


def is_partitioned(base: Base) -> bool:
    return base.layout == "partitioned"


class IcebergCopy:
    """A table of its own that begins with the data files of the base, which never change."""

    def __init__(self, place: Place, name: str, mode: Mode) -> None:
        self.name = f"{COPIES}.{word(name)}"
        spark = place.spark
        origin = load(spark, ensure_base(spark, place.base))
        partitioned = "PARTITIONED BY (month)" if is_partitioned(place.base.base) else ""
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {COPIES}")
        spark.sql(f"DROP TABLE IF EXISTS {self.name}")
        spark.sql(
            f"CREATE TABLE {self.name} ({SCHEMA}) USING iceberg {partitioned} TBLPROPERTIES "
            f"('format-version' = '{FORMAT}', 'write.merge.mode' = '{mode}')"
        )
        self._jvm = cast("Any", spark._jvm)
        self._table = load(spark, self.name)
        append = self._table.newAppend()
        for task in planned(origin.newScan().includeColumnStats()):
            append.appendFile(task.file())
        append.commit()

    def reach(self, bound: Bound | None) -> Reach:
        self._table.refresh()
        summary = self._table.currentSnapshot().summary()
        files = int(summary.get("total-data-files"))
        if bound is None:
            return Reach(files, files, int(summary.get("total-files-size")))
        parse = self._jvm.org.apache.iceberg.expressions.ExpressionParser.fromJson
        sizes = [int(task.sizeBytes()) for task in planned(self._table.newScan().filter(parse(bound_json(bound))))]
        return Reach(files, len(sizes), sum(sizes))

    def advance(self) -> Rewrite:
        self._table.refresh()
        summary = self._table.currentSnapshot().summary()
        return Rewrite(int(summary.get("added-files-size") or 0), int(summary.get("removed-files-size") or 0))

    def rows(self, spark: SparkSession) -> DataFrame:
        return spark.table(self.name)


def bound_json(bound: Bound) -> str:
    return json.dumps(bound.to_iceberg())


def load(spark: SparkSession, name: str) -> Any:
    jvm = cast("Any", spark._jvm)
    return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name)


def planned(scan: Any) -> list[Any]:
    """One task a file, whole."""
    tasks = scan.planFiles()
    try:
        found, each = [], tasks.iterator()
        while each.hasNext():
            found.append(each.next())
        return found
    finally:
        tasks.close()


class IcebergMerge:
    """MERGE INTO by the key, alone or given the bounds of the batch."""

    in_jvm = True
    table: IcebergCopy

    def __init__(self, name: str, mode: Mode, *, is_bounded: bool) -> None:
        self.name, self._mode, self.is_bounded = name, mode, is_bounded

    def prepare(self, place: Place) -> None:
        self._topic = place.topic
        self._session = tuned_session(place.spark)
        self.table = IcebergCopy(place, self.name, self._mode)

    def run(self, sent: Sent) -> Timing:
        activate(self._session)
        with timed() as timing:
            latest(decoded(self._session, self._topic, sent.planned)).createOrReplaceTempView("changes")
            self._session.sql(
                f"MERGE INTO {self.table.name} t USING changes s ON {condition(sent, is_bounded=self.is_bounded)} "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            )
        return timing
