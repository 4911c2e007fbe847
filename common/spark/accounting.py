"""Count the dispositions of a batch that Spark holds: the query behind rules/accounting.py."""

from functools import cache, reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.model.disposition import DISPOSITION, DISPOSITIONS, FOLDED, LATE, MERGE, NULL, QUARANTINED, REASON
from common.model.offsets import TopicPartition
from common.model.record import RECORD
from common.settings.pipeline import Pipeline
from common.spark.validate.disposition import is_late


def count_dispositions(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Count the dispositions by topic and partition, for `tally_from`. The rows are materialized already."""
    return rows.groupBy(*(F.col(f"{RECORD}.{name}").alias(name) for name in TopicPartition._fields)).agg(
        *counts(pipeline)
    )


@cache
def counts(pipeline: Pipeline) -> tuple[Column, ...]:
    offset = F.col(f"{RECORD}.offset")
    return (
        F.count("*").alias("rows"),
        F.count_distinct(offset).alias("offsets"),
        F.min(offset).alias("first"),
        F.max(offset).alias("last"),
        F.count_if(wrong_disposition(pipeline)).alias("wrong"),
        *(F.count_if(F.col(DISPOSITION) == each).alias(each) for each in DISPOSITIONS),
    )


def wrong_disposition(pipeline: Pipeline) -> Column:
    """True for a row whose disposition contradicts the row itself.

    It was turned away without a reason, or let pass in spite of one or without a key, or it is late or in time
    against its own time.
    """
    has_reason, disposition = F.col(REASON).isNotNull(), F.col(DISPOSITION)
    no_key = reduce(or_, (F.col(key).isNull() for key in pipeline.target.keys))
    return (
        (has_reason != disposition.isin(QUARANTINED, NULL))
        | (~has_reason & ((disposition == LATE) != is_late(pipeline)))
        | (no_key & disposition.isin(MERGE, FOLDED))
    )
