"""Whether a pipeline may begin an epoch on a table: its columns must fit, and it must not be another pipeline's."""

from collections.abc import Iterator

from delta.tables import DeltaTable
from pyspark.sql import SparkSession
from pyspark.sql import types as T

from common.errors import StateError, UsageError
from common.ledger.ledger import Ledger, spoken_epochs
from common.pipeline.new_table import no_rows
from common.settings.locations import Location
from common.settings.pipeline import Pipeline
from common.settings.remedies import again

WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


def refuse_foreign_table(
    spark: SparkSession, pipeline: Pipeline, table: Location, ledger: Ledger, *, adopt: bool
) -> None:
    """Refuse a table that cannot be the pipeline's, and one that is another's unless the operator says to share it."""
    found = DeltaTable.forPath(spark, table.uri).toDF().schema
    others = {} if ledger.committed() else ledger.other_pipelines()
    whose = f", which pipeline {spoken_epochs(others)} writes," if others else ""
    for difference in misfits(pipeline.target.keys, no_rows(spark, pipeline).schema, found):
        raise UsageError(
            f"{table}{whose} does not fit pipeline '{pipeline.name}': {difference}",
            "name the table's own pipeline with --pipeline, or correct the path",
        )
    if others and not adopt:
        raise StateError(
            f"{table} has positions of pipeline {spoken_epochs(others)} and none of '{pipeline.name}'",
            f"name the table's own pipeline with --pipeline, or let both write to it: {again('--adopt')}",
        )


def misfits(keys: list[str], wanted: T.StructType, found: T.StructType) -> Iterator[str]:
    """Differences that no change of the table could reconcile. Spark ignores the case of names."""
    stands = {field.name.lower(): field.dataType for field in found}
    for field in wanted:
        kind = stands.get(field.name.lower())
        if kind is None:
            if field.name in keys:
                yield f"it has no column '{field.name}', a key"
        elif not (is_widening(kind, field.dataType) or is_widening(field.dataType, kind)):
            yield f"column '{field.name}' is {kind.simpleString()}, not {field.dataType.simpleString()}"


def is_widening(narrow: T.DataType, wide: T.DataType) -> bool:
    """True where every value of the narrow type is one of the wide type, as Delta's type widening sees it."""
    if isinstance(narrow, WHOLE) and isinstance(wide, WHOLE):
        return WHOLE.index(type(narrow)) <= WHOLE.index(type(wide))
    if isinstance(narrow, T.DecimalType) and isinstance(wide, T.DecimalType):
        return wide.scale >= narrow.scale and wide.precision - wide.scale >= narrow.precision - narrow.scale
    return narrow == wide or (isinstance(narrow, T.FloatType) and isinstance(wide, T.DoubleType))
