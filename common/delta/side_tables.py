"""The side tables of records that were turned away, each with the transaction that turned it away.

A row whose transaction the table has not committed is provisional. It is written before the commit, so that nothing is
lost, and deleted at the next start if its transaction never came.
"""

from itertools import takewhile

from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from common.delta.ledger import Ledger, TableLog
from common.delta.lineage import topic_id_of
from common.delta.log import Commits
from common.delta.side_fields import fitting_struct, stored_struct
from common.model.disposition import DISPOSITION, LATE, MESSAGE, QUARANTINED, REASON
from common.model.position import Position, position_in
from common.model.record import RECORD
from common.spark.validate.timestamps import readable

QUARANTINE_TABLE = "_quarantine"
LATE_TABLE = "_late"
WAITING = "waiting"
# The last replay of a row, the state that it will give, and the time of the last change of the state.
REPLAY_COLUMNS = {"replay": "bigint", "claim": "string", "changed": "timestamp"}


def append_quarantined(rows: DataFrame, table: str, position: Position, table_id: str) -> None:
    columns = [
        F.col(REASON).alias("reason"),
        F.col(MESSAGE).alias("message"),
        F.lit(WAITING).alias("state"),
        *(F.lit(None).cast(kind).alias(name) for name, kind in REPLAY_COLUMNS.items()),
        topic_id_of(position).cast("string").alias("topic_id"),
    ]
    append_side(
        rows.where(F.col(DISPOSITION) == QUARANTINED), f"{table}{QUARANTINE_TABLE}", position, table_id, columns
    )


def append_late(rows: DataFrame, table: str, position: Position, table_id: str, columns: list[str]) -> None:
    """Append late events as they were read, with the records. A column whose type changed has a field a type."""
    path, schema = f"{table}{LATE_TABLE}", rows.schema
    kinds = {name: schema[name].dataType for name in columns}
    event = fitting_struct(kinds, stored_struct(rows.sparkSession, path, "event"), F.col).alias("event")
    append_side(rows.where(F.col(DISPOSITION) == LATE), path, position, table_id, [event])


def append_side(rows: DataFrame, path: str, position: Position, table_id: str, columns: list[Column]) -> None:
    """Append rows without a transaction id: after a rollback, Delta would take the retry for a replay and skip it."""
    # Commands that show these rows to a person read their times in Python.
    readable_records = rows.withColumn(
        RECORD, F.col(RECORD).withField("timestamp", readable(F.col(f"{RECORD}.timestamp")))
    )
    numbered = readable_records.select(
        F.lit(position.pipeline).alias("pipeline"),
        F.lit(position.epoch).alias("epoch"),
        F.lit(position.seq).cast("bigint").alias("seq"),
        F.lit(table_id).alias("table_id"),
        *columns,
        f"{RECORD}.*",
    )
    options = {"mergeSchema": "true", "userMetadata": position.to_metadata()}
    numbered.write.format("delta").mode("append").options(**options).save(path)


def rows_appended(spark: SparkSession, path: str, position: Position) -> int:
    """Count the rows of this attempt at a transaction by the last commits of the side table, without a Spark job."""
    of_position = takewhile(
        lambda commit: commit.info.get("userMetadata") == position.to_metadata(), Commits(spark, path).backwards()
    )
    return sum(int(commit.info["operationMetrics"]["numOutputRows"]) for commit in of_position)


def delete_uncommitted(spark: SparkSession, table: str, ledger: Ledger) -> None:
    """Delete what dead runs wrote for transactions that never came, in every epoch of this pipeline."""
    for suffix in (QUARANTINE_TABLE, LATE_TABLE):
        path = f"{table}{suffix}"
        if DeltaTable.isDeltaTable(spark, path) and may_be_provisional(Commits(spark, path), ledger):
            DeltaTable.forPath(spark, path).delete(is_provisional(ledger))


def may_be_provisional(side: TableLog, ledger: Ledger) -> bool:
    """True where a side table may have provisional rows, by its log alone, because every start asks.

    Only the newest append of a pipeline can lack its transaction: what an older run left was deleted before a newer one
    appended. Where the log cannot say, the answer is True, and the rows decide.
    """
    for commit in side.backwards():
        appended = position_in(commit.info.get("userMetadata"))
        if commit.replaces_content or (appended is None and commit.operation == "WRITE"):
            return True
        if appended is not None and appended.pipeline == ledger.pipeline:
            return appended.seq > ledger.committed().get(appended.epoch, -1)
    return True


def is_own(ledger: Ledger) -> Column:
    """True for rows of a side table that are of this pipeline and of this table, not of an earlier one at its path."""
    return (F.col("pipeline") == ledger.pipeline) & (F.col("table_id") == ledger.table_id())


def is_provisional(ledger: Ledger) -> Column:
    never_came = F.lit(False)  # noqa: FBT003
    for epoch, seq in ledger.committed().items():
        never_came = never_came | ((F.col("epoch") == epoch) & (F.col("seq") > seq))
    return is_own(ledger) & never_came
