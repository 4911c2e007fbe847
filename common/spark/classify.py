"""From raw Kafka rows to judged events: decoded, derived, with a reason where turned away, and one fate each."""

from collections.abc import Sequence
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.settings.pipeline import Pipeline
from common.spark.decode.canonical_keys import with_canonical_keys
from common.spark.decode.decoder import Decoder
from common.spark.source import as_records
from common.spark.validate.disposition import no_key, pipeline_rejections, with_disposition
from common.spark.validate.rejection import REJECTION, Rejection, with_reason
from common.spark.validate.tombstone import as_sent, of_events, of_tombstones, with_key_as_value
from common.spark.validate.unfit import unfit_values


def classify(rows: DataFrame, pipeline: Pipeline, decoder: Decoder) -> DataFrame:
    """Decoded, derived, judged: every record with its event and the fate that it has by itself."""
    return classify_records(as_records(rows), pipeline, decoder)


def classify_records(records: DataFrame, pipeline: Pipeline, decoder: Decoder) -> DataFrame:
    """The same for rows that hold their record already, and perhaps more."""
    if pipeline.deletes:
        judged = as_sent(with_columns(with_key_as_value(records), pipeline, decoder))
    else:
        judged = with_columns(records, pipeline, decoder)
    return with_disposition(judged, pipeline)


def with_columns(records: DataFrame, pipeline: Pipeline, decoder: Decoder) -> DataFrame:
    """The event's own columns and the derived ones, with a reason where they cannot be had or are refused."""
    complete = with_derived(decoder.with_event(records), pipeline)
    found = rejections(pipeline, decoder, derived_rejections(complete, pipeline))
    return with_reason(complete, found).drop(REJECTION, *decoder.temporary_columns())


def derived_rejections(events: DataFrame, pipeline: Pipeline) -> list[Rejection]:
    """What a derived column must not become. Its type is known here, and not in the pipeline file."""
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


def with_derived(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Adds the derived columns, from canonical keys, and canonical where they are keys themselves."""
    keys, derived = pipeline.target.keys, pipeline.target.derived
    keyed = with_canonical_keys(events, [key for key in keys if key not in derived])
    complete = keyed.withColumns({name: sql_column(sql) for name, sql in derived.items()})
    return with_canonical_keys(complete, [key for key in keys if key in derived])


@cache
def sql_column(sql: str) -> Column:
    return F.expr(sql)
