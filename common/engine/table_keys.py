"""Remember by which keys a table's rows are told apart, and prove it where the pipeline's file names others.

The keys stand in TABLE/_alluvium/keys/PIPELINE.json. A table that another version loaded has no such file: its keys are
taken for those of the pipeline.
"""

import json
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from common.delta.small_files import Files
from common.errors import UnclearKeys
from common.rules.key_uniqueness import key_of
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.spark.sql_text import quoted
from common.spark.validate.disposition import is_empty, partition_keys

# No column of an event has a name that begins so.
ROWS, EMPTY = "_rows", "_empty"


class TableKeys:
    """The keys of one pipeline's rows in one table."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, table: Location) -> None:
        self._spark, self._pipeline, self._table = spark, pipeline, table
        self._files, self._name = Files(spark, f"{table.uri}/_alluvium/keys"), f"{pipeline.name}.json"

    def check(self) -> None:
        """Refuse keys that two rows may share. The same keys as before, or more of them, need no proof."""
        text = self._files.read(self._name)
        before = None if text is None else set(json.loads(text))
        if before is not None and not before <= self._keys():
            self.prove(f"its rows were keyed by {', '.join(sorted(before))}")

    def prove(self, why: str) -> None:
        """Read the keys of the whole table: each must stand once, and none may be null."""
        rows, keys = self._spark.read.format("delta").load(self._table.uri), self._pipeline.target.keys
        if told := first_unclear_key(rows, self._pipeline):
            raise UnclearKeys(
                f"{self._table}: {why}, and pipeline '{self._pipeline.name}' names {', '.join(keys)}: {told}",
                "correct target.keys, or leave one row for each key in the table",
            )

    def record(self) -> None:
        wanted = json.dumps(sorted(self._keys()))
        if self._files.read(self._name) != wanted:
            self._files.write(self._name, wanted)

    def _keys(self) -> set[str]:
        return {key.lower() for key in self._pipeline.target.keys}


def first_unclear_key(rows: DataFrame, pipeline: Pipeline) -> str | None:
    """Describe the first key that stands twice, is null, or has an empty text in a partition column.

    Delta stores such a text as null. An event would update two rows of such a key, or find none.
    """
    keys = pipeline.target.keys
    has_null = reduce(or_, (F.col(quoted(key)).isNull() for key in keys))
    has_empty = reduce(or_, map(is_empty, partition_keys(pipeline)), F.lit(False))  # noqa: FBT003
    counted = rows.groupBy(*keys).agg(F.count("*").alias(ROWS), F.first(has_empty).alias(EMPTY))
    ambiguous = counted.where((F.col(ROWS) > 1) | has_null | F.col(EMPTY))
    return next((f"key {key_of(row, keys)} {what_is_unclear(row)}" for row in ambiguous.limit(1).collect()), None)


def what_is_unclear(row: Row) -> str:
    if row[EMPTY]:
        return "has an empty text in a column that partitions the table, which Delta stores as null"
    return "stands twice" if row[ROWS] > 1 else "has a null or a NaN"
