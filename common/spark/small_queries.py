"""What is done otherwise for a few records: to share work out, or to look first how much it is, would be most of it."""

from contextlib import AbstractContextManager, nullcontext

from pyspark.sql import SparkSession

from common.spark.session import settings

# Of a batch.
FEW_RECORDS = 5_000
# Of the table, which they are joined with.
FEW_ROWS = 20_000
# To write a query down as Java takes longer than to interpret it on a few rows, even where it was compiled before.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
SETTINGS = {
    # It runs a query in pieces, to plan each by the size of the one before it.
    "spark.sql.adaptive.enabled": "false",
    # A picture of each plan, for a page that nobody opens for a few records.
    "spark.sql.ui.explainMode": "simple",
    **INTERPRETED,
}


def small_query_conf(spark: SparkSession, records: int, rows: int = 0) -> AbstractContextManager[None]:
    """Queries of so many records, and so many rows of the table, planned without precaution where both are few."""
    few = records <= FEW_RECORDS and rows <= FEW_ROWS
    return settings(spark, SETTINGS) if few else nullcontext()
