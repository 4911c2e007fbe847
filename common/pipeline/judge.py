"""From raw Kafka rows to judged events: decoded, derived, with a reason where turned away, and one fate each."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from common.decode.json import JSON, TEXT, json_verdicts, with_event
from common.divide.fate import pipeline_verdicts, with_fate
from common.divide.verdict import with_reason
from common.read.kafka import as_records
from common.settings.pipeline import Pipeline


def with_fates(rows: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Decoded, derived, judged, folded: every record with its event and its fate."""
    source = pipeline.source
    decoded = with_event(as_records(rows), source.columns, source.max_record_bytes)
    verdicts = [*json_verdicts(source.columns, source.max_record_bytes), *pipeline_verdicts(pipeline)]
    judged = with_reason(with_derived(decoded, pipeline), verdicts).drop(TEXT, JSON)
    return with_fate(judged, pipeline)


def with_derived(events: DataFrame, pipeline: Pipeline) -> DataFrame:
    return events.withColumns({name: F.expr(sql) for name, sql in pipeline.target.derived.items()})
