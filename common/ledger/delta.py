"""The ledger on a real Delta table: opened through Spark, and moved by the next commit of a session."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from common.ledger.commits import Commits
from common.ledger.files import Files
from common.ledger.ledger import Ledger
from common.ledger.position import Stamp

TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def open_ledger(spark: SparkSession, table: str, pipeline: str) -> Ledger:
    return Ledger(Commits(spark, table), Files(spark, f"{table}/_alluvium/{pipeline}"), table, pipeline)


@contextmanager
def transaction(spark: SparkSession, stamp: Stamp) -> Iterator[None]:
    """The next Delta commit of this session carries the stamp. Unset afterwards: a second write under the same id
    would silently be skipped."""
    values = {
        TXN_APP_ID: stamp.app_id,
        TXN_VERSION: str(stamp.seq),
        USER_METADATA: stamp.to_metadata(),
    }
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key in values:
            spark.conf.unset(key)
