"""Plan queries of a few records without precaution: to share work out, or to measure it first, would be most of it."""

from contextlib import AbstractContextManager, nullcontext

from pyspark.sql import DataFrame, SparkSession

from common.model.limits import Limits
from common.model.offsets import Plan
from common.spark.session import settings

# To write a query down as Java takes longer than to interpret it on a few rows, even where it was compiled before.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
SETTINGS = {
    # It runs a query in pieces, to plan each by the size of the one before it.
    "spark.sql.adaptive.enabled": "false",
    # A picture of each plan, for a page that nobody opens for a few records.
    "spark.sql.ui.explainMode": "simple",
    **INTERPRETED,
}


def small_query_conf(spark: SparkSession, limits: Limits, records: int, rows: int = 0) -> AbstractContextManager[None]:
    """Set Spark's confs for queries of so many records and so many rows of the table, where both are few."""
    is_small = records <= limits.fetched_records and rows <= limits.small_query_rows
    return settings(spark, SETTINGS) if is_small else nullcontext()


def in_one_task(rows: DataFrame, planned: Plan, limits: Limits) -> DataFrame:
    """Let one task do all of a few records, from read to write: to share them out would be most of the work.

    Spark expects the worst of Kafka's records, and joins nothing of unknown size in one task: the limit tells it how
    many there can be. It cuts nothing off: one record too many is for the accounts to find.
    """
    if planned.records > limits.fetched_records:
        return rows
    return rows.coalesce(1).limit(planned.records + 1)
