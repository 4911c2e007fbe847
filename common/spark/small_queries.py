"""Plan queries of a few records as simply as possible: to distribute or measure the work would be most of it."""

from contextlib import AbstractContextManager, nullcontext

from pyspark.sql import DataFrame, SparkSession

from common.model.limits import Limits
from common.model.offsets import Plan
from common.spark.session import settings

# Generating Java for a query takes longer than interpreting it on a few rows, even where it was compiled before.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
SETTINGS = {
    # Adaptive execution runs a query in parts, and plans each by the size of the one before it.
    "spark.sql.adaptive.enabled": "false",
    # Else Spark formats each plan for the UI, a page that nobody opens for a few records.
    "spark.sql.ui.explainMode": "simple",
    **INTERPRETED,
}


def small_query_conf(spark: SparkSession, limits: Limits, records: int, rows: int = 0) -> AbstractContextManager[None]:
    """Set Spark's confs for small queries, where both the records and the rows of the table are few."""
    is_small = records <= limits.fetched_records and rows <= limits.small_query_rows
    return settings(spark, SETTINGS) if is_small else nullcontext()


def in_one_task(rows: DataFrame, planned: Plan, limits: Limits) -> DataFrame:
    """Let one task process a few records from read to write, because distributing them would take most of the time.

    Spark does not know the size of Kafka's records, and joins nothing of unknown size in one task. The limit tells it
    how many records there can be. It cuts nothing off: it leaves one record too many for the accounts to find.
    """
    if planned.records > limits.fetched_records:
        return rows
    return rows.coalesce(1).limit(planned.records + 1)
