"""The columns that a pipeline gives its table: the declared ones and the derived ones, in their order."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from common.settings.pipeline import Pipeline
from common.spark.classify import with_derived


def no_rows(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """Return an empty DataFrame with these columns."""
    return with_derived(spark.createDataFrame([], pipeline.source.ddl), pipeline)


def declared_schema(spark: SparkSession, pipeline: Pipeline) -> T.StructType:
    """Return the names and types of these columns. Only Spark knows the types of derived ones."""
    return no_rows(spark, pipeline).schema
