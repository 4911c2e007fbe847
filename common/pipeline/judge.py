"""From raw Kafka rows to judged events: decoded, derived, with a reason where turned away, and one fate each."""

from collections.abc import Sequence
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.decode.json import json_verdicts, scaffold, with_event
from common.decode.keys import with_canonical_keys
from common.divide.fate import no_key, pipeline_verdicts, with_fate
from common.divide.tombstone import as_sent, of_events, of_tombstones, with_key_as_value
from common.divide.verdict import Verdict, first_of, with_reason
from common.read.kafka import as_records
from common.settings.pipeline import Pipeline


def with_fates(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Decoded, derived, judged, folded: every record with its event and its fate."""
    return with_fates_of_records(as_records(rows), pipeline)


def with_fates_of_records(records: DataFrame, pipeline: Pipeline, newest: Sequence[Column] = ()) -> DataFrame:
    """The same for rows that hold their record already, and perhaps more."""
    if pipeline.deletes:
        judged = as_sent(with_columns(with_key_as_value(records), pipeline))
    else:
        judged = with_columns(records, pipeline)
    return with_fate(judged, pipeline, newest)


def with_columns(records: DataFrame, pipeline: Pipeline) -> DataFrame:
    """The event's own columns and the derived ones, with a reason where they cannot be had or are refused."""
    source = pipeline.source
    decoded = with_event(records, source.columns, source.max_record_bytes)
    return with_reason(with_derived(decoded, pipeline), verdict(pipeline)).drop(*scaffold(source.columns))


@cache
def verdict(pipeline: Pipeline) -> Column:
    return first_of(verdicts(pipeline))


def verdicts(pipeline: Pipeline) -> list[Verdict]:
    source = pipeline.source
    of_values = [*json_verdicts(source.columns, source.max_record_bytes), *pipeline_verdicts(pipeline)]
    if not pipeline.deletes:
        return of_values
    keys = {name: source.columns[name] for name in pipeline.target.keys}
    of_keys = [*json_verdicts(keys, source.max_record_bytes), *no_key(pipeline)]
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
