"""One row per key: MERGE fails on two, and on an empty table inserts both."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def latest_per_key(events: DataFrame, keys: Sequence[str], columns: Sequence[str]) -> DataFrame:
    """The event with the greatest offset of each key; messages are keyed, so a key lives in one partition."""
    newest = F.max_by(F.struct(*columns), F.col("offset")).alias("newest")
    return events.groupBy(*keys).agg(newest).select("newest.*")
