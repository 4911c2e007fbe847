"""The way of one batch, called by both drivers: decode, fold, merge, and the position in the same commit."""

from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.decode.json import EVENT, is_broken, with_event
from common.errors import AlluviumError
from common.fold.latest import latest_per_key
from common.ledger.ledger import Ledger, transaction
from common.ledger.position import Position
from common.merge.upsert import append_nothing, merge_latest
from common.plan.offsets import Plan
from common.settings.pipeline import Pipeline


class BrokenRecords(AlluviumError):
    """Records that cannot be merged; the batch is not begun."""


@dataclass(frozen=True)
class BatchResult:
    """What a batch did, and where the next one begins."""

    position: Position
    rows_read: int
    rows_merged: int


@dataclass(frozen=True)
class Settling:
    """Everything that a batch needs besides its rows. `table` is the URI that Delta gets."""

    pipeline: Pipeline
    table: str
    topic: str
    topic_id: str


def run_batch(settling: Settling, position: Position, planned: Plan, rows: DataFrame) -> BatchResult:
    """Settle `rows`, which are those of `planned`, as the transaction after `position`.

    The session is the rows' own: in foreachBatch it is a clone, and MERGE reads the transaction from the session
    that owns the table.
    """
    spark = rows.sparkSession
    pipeline = settling.pipeline
    # Read once: another read of the same range could meet a log that retention has shortened meanwhile.
    events = with_event(rows, pipeline.source.columns).localCheckpoint()
    rows_read = refuse_broken(events, pipeline.target.keys)
    changes = with_derived(events.select("offset", f"{EVENT}.*"), pipeline)
    latest = latest_per_key(changes, pipeline.target.keys, pipeline.columns).localCheckpoint()
    rows_merged = latest.count()
    following = position.advanced(settling.topic_id, planned.end)
    with transaction(spark, following):
        if rows_merged:
            merge_latest(DeltaTable.forPath(spark, settling.table), latest, pipeline.target.keys, pipeline.columns)
        else:
            append_nothing(spark, settling.table)
    Ledger(spark, settling.table, pipeline.name).copy(following)
    return BatchResult(following, rows_read, rows_merged)


def with_derived(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    return events.withColumns({name: F.expr(sql) for name, sql in pipeline.target.derived.items()})


def refuse_broken(events: DataFrame, keys: list[str]) -> int:
    """The number of rows, all of them sound; else an error that names the first that is not."""
    broken = is_broken(keys)
    (counted,) = events.agg(
        F.count("*").alias("rows"),
        F.count_if(broken).alias("broken"),
        F.min(F.when(broken, F.struct("partition", "offset"))).alias("first"),
    ).collect()
    if counted["broken"]:
        raise BrokenRecords(
            f"{counted['broken']} of {counted['rows']} records cannot be decoded, the first at partition "
            f"{counted['first']['partition']}, offset {counted['first']['offset']}",
            "nothing was written; correct the producer or the pipeline's columns",
        )
    return int(counted["rows"])
