"""Turn Kafka's records into classified events: decoded, derived, validated, and with one disposition each."""

from collections.abc import Sequence
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.model.disposition import DISPOSITION, MESSAGE, REASON
from common.settings.pipeline import Pipeline
from common.spark.decode.canonical_keys import with_canonical_keys
from common.spark.decode.decoder import Decoder
from common.spark.validate.disposition import disposition, no_key, pipeline_rejections
from common.spark.validate.rejection import Rejection
from common.spark.validate.tombstone import as_sent, of_events, of_tombstones, with_key_as_value
from common.spark.validate.unfit import unfit_values

REJECTION = "_rejection"


def classify(records: DataFrame, pipeline: Pipeline, decoder: Decoder) -> DataFrame:
    """Decode and validate records. Each gets its event, and the disposition that it has by itself."""
    return validate(decode(records, pipeline, decoder), pipeline, decoder)


def decode(records: DataFrame, pipeline: Pipeline, decoder: Decoder) -> DataFrame:
    """Add the event's own columns and the derived ones. The rows have their record, and perhaps more columns."""
    lent = with_key_as_value(records) if pipeline.deletes else records
    return with_derived(decoder.with_event(lent), pipeline)


def validate(events: DataFrame, pipeline: Pipeline, decoder: Decoder) -> DataFrame:
    """Add a disposition, and a reason where a record could not be decoded or its event is refused."""
    of_derived = derived_rejections(events, pipeline)
    temporary, conditions = decoder.temporary_columns(), rejections(pipeline, decoder, of_derived)
    validated = with_reason(events, conditions).drop(REJECTION, *temporary)
    return with_disposition(as_sent(validated) if pipeline.deletes else validated, pipeline)


def derived_rejections(events: DataFrame, pipeline: Pipeline) -> list[Rejection]:
    """Reject unreadable values of derived columns. Their types are known here, and not in the pipeline file."""
    derived = pipeline.target.derived
    if not derived:
        return []
    schema = events.schema
    return [rejection for name in derived for rejection in unfit_values(name, schema[name].dataType)]


def rejections(pipeline: Pipeline, decoder: Decoder, of_derived: Sequence[Rejection]) -> list[Rejection]:
    of_values = [*decoder.rejections(), *pipeline_rejections(pipeline), *of_derived]
    if not pipeline.deletes:
        return of_values
    of_keys = [*decoder.key_rejections(pipeline.target.keys), *no_key(pipeline)]
    return [*of_tombstones(of_keys), *of_events(of_values)]


def with_reason(rows: DataFrame, rejections: Sequence[Rejection]) -> DataFrame:
    """Add `_reason` and `_message` of the first rejection that applies, null where none does. `_rejection` has both."""
    first = F.coalesce(*(each.where_it_applies for each in rejections)).cast("struct<code:string,message:string>")
    parts = (F.col(f"{REJECTION}.code").alias(REASON), F.col(f"{REJECTION}.message").alias(MESSAGE))
    return rows.select("*", first.alias(REJECTION), *parts)


def with_disposition(validated: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Add `_disposition`, by each record alone. What is to be merged may still become folded (rules/deduplicate.py)."""
    return validated.withColumn(DISPOSITION, disposition(pipeline))


def with_derived(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Add the derived columns, computed from canonical keys. A derived column that is a key is made canonical too."""
    keys, derived = pipeline.target.keys, pipeline.target.derived
    keyed = with_canonical_keys(events, [key for key in keys if key not in derived])
    complete = keyed.withColumns({name: sql_column(sql) for name, sql in derived.items()})
    return with_canonical_keys(complete, [key for key in keys if key in derived])


@cache
def sql_column(sql: str) -> Column:
    return F.expr(sql)
