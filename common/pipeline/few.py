"""What is done otherwise for a few records: to share work out, or to look first how much it is, would be most of it."""

from contextlib import AbstractContextManager, nullcontext

from pyspark.sql import SparkSession

from common.session import settings

FEW_RECORDS = 5_000
# To write a query down as Java takes longer than to interpret it on a few rows, even where it was compiled before.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
SETTINGS = {
    # It runs a query in pieces, to plan each by the size of the one before it.
    "spark.sql.adaptive.enabled": "false",
    # A picture of each plan, for a page that nobody opens for a few records.
    "spark.sql.ui.explainMode": "simple",
    **INTERPRETED,
}


def planned_for(spark: SparkSession, records: int) -> AbstractContextManager[None]:
    """Queries of so many records, planned without precaution where they are few."""
    return nullcontext() if records > FEW_RECORDS else settings(spark, SETTINGS)
