"""From raw Kafka rows to judged events: decoded, derived, with a reason where turned away, and one fate each."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.decode.json import json_verdicts, scaffold, with_event
from common.decode.keys import with_canonical_keys
from common.divide.fate import pipeline_verdicts, with_fate
from common.divide.verdict import with_reason
from common.read.kafka import as_records
from common.settings.pipeline import Pipeline


def with_fates(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Decoded, derived, judged, folded: every record with its event and its fate."""
    source = pipeline.source
    decoded = with_event(as_records(rows), source.columns, source.max_record_bytes)
    verdicts = [*json_verdicts(source.columns, source.max_record_bytes), *pipeline_verdicts(pipeline)]
    judged = with_reason(with_derived(decoded, pipeline), verdicts).drop(*scaffold(source.columns))
    return with_fate(judged, pipeline)


def with_derived(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Adds the derived columns, from canonical keys, and canonical where they are keys themselves."""
    keys, derived = pipeline.target.keys, pipeline.target.derived
    keyed = with_canonical_keys(events, [key for key in keys if key not in derived])
    complete = keyed.withColumns({name: F.expr(sql) for name, sql in derived.items()})
    return with_canonical_keys(complete, [key for key in keys if key in derived])
