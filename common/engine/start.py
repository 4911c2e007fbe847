"""Start a driver: read the position from the table, and check that the topic still fits it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from common.delta.lock import commit_lock
from common.delta.open_ledger import open_ledger
from common.delta.side_tables import delete_uncommitted
from common.engine.context import BatchContext
from common.engine.resume import resume
from common.engine.table_fit import TableFit
from common.errors import ConfigurationError, UsageError
from common.faults import fault_point
from common.kafka.topic import TopicClient
from common.merge.strategies import STRATEGIES
from common.merge.strategy import MergeStrategy
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.offsets import Available
from common.model.position import Position
from common.settings.brokers import bootstrap
from common.settings.kafka_security import access
from common.settings.load import read_pipeline
from common.settings.locations import Location, location, require_delta_table
from common.settings.pipeline import Pipeline
from common.settings.remedies import tell
from common.spark.decode.factory import decoder_of
from common.spark.expressions import check_expressions


@dataclass(frozen=True)
class Inputs:
    """The arguments of a job on a table and a topic, resolved."""

    pipeline: Pipeline
    table: Location
    topic: TopicClient
    check_pruning: bool = False
    limits: Limits = DEFAULT_LIMITS
    strategies: Sequence[MergeStrategy] = STRATEGIES


def resolve_inputs(name: str, delta_dir: str, brokers: str, topics: str, *, check_pruning: bool = False) -> Inputs:
    """Resolve and check the arguments, before Spark starts and before anything is locked."""
    pipeline, table, addresses = read_pipeline(name), location(delta_dir), bootstrap(brokers)
    tell(PIPELINE=name, DELTA_DIR=str(table), BROKERS=addresses, TOPIC=topics)
    require_delta_table(table)
    topic = TopicClient(addresses, topics, access=access(pipeline.source.kafka))
    topic.describe()
    return Inputs(pipeline, table, topic, check_pruning)


def resolve_further(first: Inputs, also: Sequence[tuple[str, str]]) -> list[Inputs]:
    """Return the inputs of all targets of a job, which share one read: the first, and each further pipeline's."""
    targets = [first]
    for name, delta_dir in also:
        pipeline, table = read_pipeline(name), location(delta_dir)
        tell(PIPELINE=name, DELTA_DIR=str(table))
        require_delta_table(table)
        refuse_shared_table(table, targets)
        refuse_other_access(pipeline, first.pipeline)
        targets.append(replace(first, pipeline=pipeline, table=table))
    return targets


def refuse_shared_table(table: Location, targets: Sequence[Inputs]) -> None:
    if table.uri in {each.table.uri for each in targets}:
        raise UsageError(f"{table} is named twice", "give each pipeline a table of its own")


def refuse_other_access(pipeline: Pipeline, first: Pipeline) -> None:
    """Refuse another access to the brokers than the first pipeline's, because one client reads for all targets."""
    if pipeline.source.kafka != first.source.kafka:
        raise ConfigurationError(
            f"pipelines '{first.name}' and '{pipeline.name}' reach the brokers in different ways",
            "give both files the same [source.kafka], or run a job for each",
        )


@dataclass(frozen=True)
class RunState:
    """The beginning of a run: its context, its position, and the offsets that the topics have."""

    context: BatchContext
    position: Position
    available: Available


def start_from_table(spark: SparkSession, given: Inputs) -> RunState:
    pipeline, table, topic = given.pipeline, given.table, given.topic
    check_expressions(spark, pipeline)
    # The JVM of a killed job may still be in its commit: the position is read when that is over.
    with commit_lock(table):
        found = resume(open_ledger(spark, table.uri, pipeline.name), topic)
        fit = TableFit(spark, pipeline, table)
    decoder = decoder_of(spark, pipeline)
    context = BatchContext(
        fit,
        table,
        topic,
        found.topic_ids,
        decoder,
        given.limits,
        given.strategies,
        check_pruning=given.check_pruning,
    )
    return RunState(context, found.position, found.available)


def recover(spark: SparkSession, start: RunState) -> None:
    """Recover from a dead run: delete provisional rows of the side tables, and copy the position.

    Alter the table where the pipeline declares more than it has.
    """
    fault_point("started")
    table = start.context.table.uri
    ledger = open_ledger(spark, table, start.context.pipeline.name)
    # Maintenance rewrites the side tables too.
    with commit_lock(start.context.table):
        delete_uncommitted(spark, table, ledger)
        start.context.fit.apply(spark)
    ledger.copy(start.position)
    fault_point("undone")
