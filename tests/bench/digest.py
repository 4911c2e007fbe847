"""What a table holds, in two numbers that add up: rows, and a sum over their hashes."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.bench.batches import Row

COLUMNS = ["latitude", "longitude", "time", "temperature_2m", "month"]
KEYS = COLUMNS[:3]
SCHEMA = "latitude double, longitude double, time string, temperature_2m double, month string"
# Hashes are cut so that a sum of a thousand million of them is still a bigint.
CUT = 2**31 - 1


@dataclass(frozen=True)
class Digest:
    rows: int
    hashes: int

    def plus(self, other: "Digest") -> "Digest":
        return Digest(self.rows + other.rows, self.hashes + other.hashes)

    def minus(self, other: "Digest") -> "Digest":
        return Digest(self.rows - other.rows, self.hashes - other.hashes)


def digest_of(table: DataFrame) -> Digest:
    hashed = F.pmod(F.xxhash64(*COLUMNS), F.lit(CUT))
    found = table.agg(F.count("*").alias("rows"), F.coalesce(F.sum(hashed), F.lit(0)).alias("hashes")).first()
    assert found is not None
    return Digest(found["rows"], found["hashes"])


def of_rows(spark: SparkSession, rows: Sequence[Row]) -> Digest:
    return digest_of(spark.createDataFrame(list(rows), SCHEMA))


def after_merging(base: DataFrame, held: Digest, rows: Sequence[Row]) -> Digest:
    """The base without the rows whose keys came, with the last row of each key: no contender was asked."""
    spark = base.sparkSession
    latest = {row.key: row for row in rows}
    keys = spark.createDataFrame(list(latest), "latitude double, longitude double, time string")
    replaced = digest_of(base.join(F.broadcast(keys), on=KEYS, how="left_semi"))
    return held.minus(replaced).plus(of_rows(spark, list(latest.values())))


def after_appending(spark: SparkSession, held: Digest, rows: Sequence[Row]) -> Digest:
    return held.plus(of_rows(spark, rows))
