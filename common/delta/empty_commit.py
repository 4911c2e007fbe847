"""Commit nothing but the transaction that the session carries."""

import json

from pyspark.sql import SparkSession
from pyspark.sql import types as T

from common.delta.computed_columns import fills_itself
from common.delta.log import Commits


def commit_empty(spark: SparkSession, path: str) -> None:
    """Append no rows. Columns that Delta computes are left out: it takes no value for them."""
    metadata = json.loads(Commits(spark, path).metadata())["metaData"]
    computed = {
        field.name for field in T.StructType.fromJson(json.loads(metadata["schemaString"])) if fills_itself(field)
    }
    rows = spark.read.format("delta").load(path)
    nothing = spark.createDataFrame([], rows.drop(*computed).schema)
    nothing.write.format("delta").mode("append").save(path)
