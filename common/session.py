"""The only place where a Spark session is built; its properties come from conf/ENVIRONMENT.conf through submit/."""

from pyspark.sql import SparkSession


def start_session(name: str) -> SparkSession:
    return SparkSession.builder.appName(name).getOrCreate()
