"""The columns that a pipeline gives its table: the declared ones and the derived ones, in their order."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as T

from common.settings.pipeline import Pipeline
from common.spark.classify import with_derived


def no_rows(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """An empty DataFrame with these columns."""
    return with_derived(spark.createDataFrame([], pipeline.source.ddl), pipeline)


def declared_schema(spark: SparkSession, pipeline: Pipeline) -> T.StructType:
    """Their names and types: the derived ones' are known to Spark only."""
    return no_rows(spark, pipeline).schema
