"""Write each key in one form, so that two spellings of it are one row: docs/keys.md."""

from collections.abc import Sequence
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

NOT_ASCII = r"[^\x00-\x7F]"
ICU = "com.ibm.icu.text.Normalizer"


def with_canonical_keys(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Replace these columns by their canonical form."""
    if not keys:
        return rows
    return rows.withColumns({key: canonical(key, rows.schema[key].dataType) for key in keys})


@cache
def canonical(key: str, kind: T.DataType) -> Column:
    value = F.col(key)
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        # NaN is no number, so it is no key either. It becomes null, and is turned away as a null key.
        return F.when(~F.isnan(value), one_zero(value))
    return composed(value) if isinstance(kind, T.StringType) else value


def one_zero(value: Column) -> Column:
    """Replace -0.0 by 0.0, because they are equal numbers with different bits."""
    return F.when(value == 0, F.abs(value)).otherwise(value)


def composed(text: Column) -> Column:
    """Compose a text to Unicode NFC, by the ICU that Spark ships: é is one text, of one character or of two."""
    icu = F.reflect(F.lit(ICU), F.lit("compose"), text, F.lit(False))  # noqa: FBT003
    return F.when(text.rlike(NOT_ASCII), icu).otherwise(text)
