"""Open the ledger of a real Delta table through Spark, and let the next commit of a session move it."""

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
    """Let the next Delta commit of this session carry the stamp.

    It is unset afterwards, because Delta would silently skip a second write under the same id.
    """
    values = {TXN_APP_ID: stamp.app_id, TXN_VERSION: str(stamp.seq), USER_METADATA: stamp.to_metadata()}
    return settings(spark, values)
