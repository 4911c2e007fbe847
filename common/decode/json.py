"""JSON values to typed columns, in the JVM; what cannot be decoded is marked, never turned into nulls."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

EVENT = "event"
BROKEN = "_broken"
STRICT = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": BROKEN,
    "allowSingleQuotes": "false",
    "allowNonNumericNumbers": "false",
}


def schema_of(columns: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns.items())


def with_event(rows: DataFrame, columns: Mapping[str, str]) -> DataFrame:
    """Adds `event`, a struct of the declared columns and the text that could not be decoded."""
    text = F.col("value").cast("string")
    return rows.withColumn(EVENT, F.from_json(text, f"{schema_of(columns)}, `{BROKEN}` string", STRICT))


def is_broken(keys: list[str]) -> Column:
    """No value, no JSON object of the declared types, or no key."""
    missing_key = F.lit(False)  # noqa: FBT003
    for key in keys:
        missing_key = missing_key | F.col(f"{EVENT}.{key}").isNull()
    return F.col(EVENT).isNull() | F.col(f"{EVENT}.{BROKEN}").isNotNull() | missing_key
