"""Check the SQL in a pipeline's file, on a DataFrame without rows, before any record is read."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.errors import ConfigurationError, first_line
from common.model.disposition import DELETED
from common.model.record import RECORD, RECORD_DDL
from common.settings.pipeline import PRUNABLE, Pipeline
from common.spark.classify import with_derived
from common.spark.jvm import java, java_frame
from common.spark.key_uniqueness import order_value
from common.spark.validate.disposition import event_time, is_late, pipeline_rejections


def check_expressions(spark: SparkSession, pipeline: Pipeline) -> None:
    """Refuse SQL that Spark cannot analyse, or that gives another value at each run."""
    nothing = spark.createDataFrame([], f"{RECORD} {RECORD_DDL}, {DELETED} boolean, {pipeline.source.ddl}")
    try:
        events = with_derived(nothing, pipeline)
        events.select(*(rejection.applies for rejection in pipeline_rejections(pipeline)), is_late(pipeline))
        events.groupBy(*pipeline.target.keys).agg(F.max(order_value(pipeline.target.ordering)))
    except (AnalysisException, ParseException) as error:
        refuse_first_wrong(nothing, pipeline)
        raise ConfigurationError(f"pipeline '{pipeline.name}': {reason(error)}", "correct its file") from error
    for name in pipeline.target.prune_by:
        if (kind := events.schema[name].dataType.simpleString()) not in PRUNABLE:
            raise ConfigurationError(
                f"pipeline '{pipeline.name}': target.prune_by: '{name}' is {kind}",
                f"prune by a column that is {', '.join(PRUNABLE)}",
            )
    for place, sql in expressions(pipeline):
        if not is_repeatable(events, sql):
            raise ConfigurationError(
                f"pipeline '{pipeline.name}': {place} = '{sql}' gives another value at each run",
                "derive it from the event alone: a batch that is read again must give the same rows",
            )


def refuse_first_wrong(nothing: DataFrame, pipeline: Pipeline) -> None:
    """Analyse each expression on its own, now that one of them is known to be wrong, and name it."""
    before: dict[str, str] = {}
    for name, sql in pipeline.target.derived.items():
        before[name] = sql
        # Together with the columns before it, which it may use.
        with named(pipeline, f"target.derived.{name}", sql):
            nothing.withColumns({each: F.expr(text) for each, text in before.items()})
    events = with_derived(nothing, pipeline)
    for rule in pipeline.quality.rules:
        with named(pipeline, f"quality.rules.{rule.name}", rule.check):
            events.select(~F.expr(rule.check))
    if pipeline.late is not None:
        with named(pipeline, "late.column", pipeline.late.column):
            events.select(event_time(pipeline.late))
    with named(pipeline, "target.sequence", pipeline.target.sequence):
        events.select(F.max(order_value(pipeline.target.ordering)))


@contextmanager
def named(pipeline: Pipeline, place: str, sql: str) -> Iterator[None]:
    """Name the place in the file of an expression that Spark refuses, with Spark's own reason."""
    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise ConfigurationError(
            f"pipeline '{pipeline.name}': {place} = '{sql}': {reason(error)}", f"correct {place}"
        ) from error


def reason(error: BaseException) -> str:
    """Return the sentence in which Spark says what is wrong, without its codes and the plan."""
    return re.sub(r"^\[[A-Z_.0-9]+\] |\.? SQLSTATE: .*$", "", first_line(error))


def expressions(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Yield the place of each expression in the file, and its SQL."""
    for name, sql in pipeline.target.derived.items():
        yield f"target.derived.{name}", sql
    for rule in pipeline.quality.rules:
        yield f"quality.rules.{rule.name}", rule.check


def is_repeatable(rows: DataFrame, sql: str) -> bool:
    """True where an expression gives the same value at each run.

    Spark marks rand() and uuid() as not deterministic. now() is a constant to Spark, and has the pattern CURRENT_LIKE.
    """
    clock = java(rows.sparkSession, "org.apache.spark.sql.catalyst.trees.TreePattern").CURRENT_LIKE()
    analyzed = java_frame(rows.select(F.expr(sql))).queryExecution().analyzed().expressions().head()
    return bool(analyzed.deterministic()) and not analyzed.containsPattern(clock)
