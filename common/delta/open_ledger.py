"""The ledger on a real Delta table: opened through Spark, and moved by the next commit of a session."""

from contextlib import AbstractContextManager

from pyspark.sql import SparkSession

from common.delta.ledger import Ledger
from common.delta.log import Commits
from common.delta.small_files import Files
from common.model.position import Stamp
from common.spark.session import settings

TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def open_ledger(spark: SparkSession, table: str, pipeline: str) -> Ledger:
    return Ledger(Commits(spark, table), Files(spark, f"{table}/_alluvium/{pipeline}"), table, pipeline)


def transaction(spark: SparkSession, stamp: Stamp) -> AbstractContextManager[None]:
    """The next Delta commit of this session carries the stamp. Unset afterwards: a second write under the same id
    would silently be skipped."""
    values = {TXN_APP_ID: stamp.app_id, TXN_VERSION: str(stamp.seq), USER_METADATA: stamp.to_metadata()}
    return settings(spark, values)
