"""How much of the table a batch can touch, by Delta's own skipping and never by a reading of its statistics."""

from collections.abc import Sequence
from dataclasses import dataclass

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.merge.upsert import same_key


@dataclass(frozen=True)
class Reach:
    """The table as it stands now: the rows that may have a key of the batch, and how many files they are read from.

    Without a bound that is all of it, and `candidates` is None.
    """

    table: DeltaTable
    bound: str | None
    rows: DataFrame
    candidates: int | None

    @property
    def is_empty(self) -> bool:
        """No file can hold a key of the batch: the proof that lets it be appended."""
        return self.candidates == 0

    def strays(self, changes: DataFrame, keys: Sequence[str]) -> DataFrame:
        """Changes whose key has a row outside of the bound: there must not be any, or the bound is not sound."""
        if self.bound is None:
            return changes.limit(0)
        outside = self.table.alias("t").toDF().where(f"NOT ({self.bound})")
        return changes.alias("s").join(outside, on=F.expr(same_key(keys)), how="left_semi")

    def fits(self, changes: DataFrame) -> bool:
        """An append casts nothing: where the table was made with other types, the MERGE does it."""
        kinds = {field.name: field.dataType for field in changes.schema}
        return all(kinds.get(field.name, field.dataType) == field.dataType for field in self.rows.schema)


def reach(spark: SparkSession, path: str, bound: str | None) -> Reach:
    table = DeltaTable.forPath(spark, path)
    if bound is None:
        return Reach(table, None, table.toDF(), None)
    rows = table.alias("t").toDF().where(bound)
    return Reach(table, bound, rows, len(rows.inputFiles()))
