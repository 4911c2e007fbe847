"""The SQL that a pipeline's owner writes, tried on no rows before any are read."""

from collections.abc import Iterator
from typing import Any, cast

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from common.errors import ConfigurationError, first_line
from common.pipeline.judge import with_fates
from common.settings.pipeline import Pipeline


def check_expressions(spark: SparkSession, pipeline: Pipeline) -> None:
    """It must mean something to Spark, and the same whenever it is asked."""
    nothing = spark.createDataFrame(
        [], "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
    )
    try:
        judged = with_fates(nothing, pipeline)
    except (AnalysisException, ParseException) as error:
        raise ConfigurationError(
            f"pipeline '{pipeline.name}': {first_line(error)}", "correct its derived columns or rules"
        ) from error
    for place, sql in expressions(pipeline):
        if not is_repeatable(judged, sql):
            raise ConfigurationError(
                f"pipeline '{pipeline.name}': {place} = '{sql}' gives another value at each run",
                "derive it from the event alone: a batch that is read again must give the same rows",
            )


def expressions(pipeline: Pipeline) -> Iterator[tuple[str, str]]:
    """Where each stands in the file, and its text."""
    for name, sql in pipeline.target.derived.items():
        yield f"target.derived.{name}", sql
    for rule in pipeline.quality.rules:
        yield f"quality.rules.{rule.name}", rule.check


def is_repeatable(rows: DataFrame, sql: str) -> bool:
    """Spark calls rand() and uuid() not deterministic; now() is a constant to it, of a family with its own mark."""
    jvm = cast("Any", rows.sparkSession._jvm)
    clock = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()
    analyzed = cast("Any", rows.select(F.expr(sql))._jdf).queryExecution().analyzed().expressions().head()
    return bool(analyzed.deterministic()) and not analyzed.containsPattern(clock)
