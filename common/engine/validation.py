"""Validate a batch and compute its rows: Spark is lazy, so they are read and decoded here too."""

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from common.engine.context import BatchContext
from common.engine.materialized_batch import MaterializedBatch, materialize
from common.engine.source import ReadRows
from common.model.offsets import Plan
from common.model.record import RECORD
from common.spark.classify import classify, decode, validate
from common.spark.decode.decoder import Decoder
from common.spark.overflow import is_overflow, read_around
from common.spark.source import as_records


def decode_batch(context: BatchContext, rows: ReadRows) -> DataFrame:
    """Decode the rows to events, which Spark computes later."""
    return decode(as_records(rows.frame), context.pipeline, context.decoder)


def validate_batch(context: BatchContext, planned: Plan, rows: ReadRows, events: DataFrame) -> MaterializedBatch:
    """Validate the events, once more where the decoder has met schemas that it did not know.

    The rows are then decoded again as they were read: the topic is not read twice.
    """
    batch = validate_once(context, planned, rows, events)
    informed = context.decoder.with_schemas_seen_in(lambda: batch.rows)
    return batch if informed is None else computed(context, batch.rows.select(RECORD), informed, rows)


def validate_once(context: BatchContext, planned: Plan, rows: ReadRows, events: DataFrame) -> MaterializedBatch:
    """Validate and compute the events.

    The topic is read again only where a record's time fails every read by Spark, because retention may have shortened
    the log meanwhile.
    """
    try:
        classified = validate(events, context.pipeline, context.decoder)
        return materialize(classified, context.pipeline, context.limits, is_fetched=rows.is_fetched)
    except (PySparkException, Py4JError) as error:
        context.refuse_unreadable(planned.start)
        spark = rows.frame.sparkSession
        around = read_around(spark, context.topic, planned, context.limits) if is_overflow(error) else None
        if around is None:
            raise
    return computed(context, as_records(around), context.decoder, rows)


def computed(context: BatchContext, records: DataFrame, decoder: Decoder, rows: ReadRows) -> MaterializedBatch:
    classified = classify(records, context.pipeline, decoder)
    return materialize(classified, context.pipeline, context.limits, is_fetched=rows.is_fetched)
