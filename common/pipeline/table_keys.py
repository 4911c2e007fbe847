"""Remember by which keys a table's rows are told apart, and prove it where the pipeline's file names others.

The keys stand in TABLE/_alluvium/keys/PIPELINE.json. A table that another version loaded has no such file: its keys are
taken for those of the pipeline.
"""

import json

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from common.account.keys import key_of
from common.errors import ConfigurationError
from common.ledger.files import Files
from common.merge.quoting import quoted
from common.settings.locations import Location
from common.settings.pipeline import Pipeline

# No column of an event has a name that begins so.
ROWS = "_rows"


class UnclearKeys(ConfigurationError):
    """The table's rows cannot be told apart by the declared keys."""


class TableKeys:
    """The keys of one pipeline's rows in one table."""

    def __init__(self, spark: SparkSession, pipeline: Pipeline, table: Location) -> None:
        self._spark, self._pipeline, self._table = spark, pipeline, table
        self._files, self._name = Files(spark, f"{table.uri}/_alluvium/keys"), f"{pipeline.name}.json"

    def check(self) -> None:
        """Refuse keys by which two rows are one. More keys than before need no proof, and the same ones neither."""
        text = self._files.read(self._name)
        before = None if text is None else set(json.loads(text))
        if before is not None and not before <= self._keys():
            self.prove(f"its rows were keyed by {', '.join(sorted(before))}")

    def prove(self, why: str) -> None:
        """Read the keys of the whole table: each must stand once, and none may be null."""
        rows, keys = self._spark.read.format("delta").load(self._table.uri), self._pipeline.target.keys
        for row in unclear_keys(rows, keys).limit(1).collect():
            raise UnclearKeys(
                f"{self._table}: {why}, and pipeline '{self._pipeline.name}' names {', '.join(keys)}: "
                f"key {key_of(row, keys)} {what_is_unclear(row)}",
                "correct target.keys, or leave one row for each key in the table",
            )

    def remember(self) -> None:
        wanted = json.dumps(sorted(self._keys()))
        if self._files.read(self._name) != wanted:
            self._files.write(self._name, wanted)

    def _keys(self) -> set[str]:
        return {key.lower() for key in self._pipeline.target.keys}


def unclear_keys(rows: DataFrame, keys: list[str]) -> DataFrame:
    """Keys that stand twice, and those with a null in them."""
    has_null = " OR ".join(f"{quoted(key)} IS NULL" for key in keys)
    return rows.groupBy(*keys).agg(F.count("*").alias(ROWS)).where(f"{ROWS} > 1 OR {has_null}")


def what_is_unclear(row: Row) -> str:
    return "stands twice" if row[ROWS] > 1 else "has a null or a NaN"
