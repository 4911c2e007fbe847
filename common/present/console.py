"""Print what a driver works with: the schemas, the next plan, and the rows of each batch."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from common.engine.start import RunState
from common.engine.targets import Target, plan_next
from common.settings.pipeline import Pipeline

NOTHING_CHANGED = "Nothing was changed; --execute does it."


def announce_schemas(rows: DataFrame, pipelines: Sequence[Pipeline]) -> None:
    print("Raw schema from kafka read...")
    rows.printSchema()
    for pipeline in pipelines:
        print(f"Converting to a regular {pipeline.source.format} df from value column")
        print(f"Schema after conversion from value to {pipeline.source.format} dataset...")
        rows.sparkSession.createDataFrame([], pipeline.source.ddl).printSchema()


def print_rows(count: int) -> None:
    print(f"Total number of rows :{count}", flush=True)


def print_plan(starts: Sequence[RunState]) -> None:
    """Print what the next read would be, and for which tables. Nothing is read or written for it."""
    targets = [Target(start.context, start.position) for start in starts]
    shared = plan_next(targets, starts[0].available)
    for number in shared.targets:
        context, position = targets[number].context, targets[number].position
        planned = shared.planned.of(context.topic_ids)
        where = f"Epoch {position.epoch}, transaction {position.seq + 1}"
        into = f" into {context.table}" if len(starts) > 1 else ""
        print(f"{where}: {planned.records} records of {','.join(context.topic_ids)}{into}")
        for clause in context.fit.pending:
            print(f"  before it: ALTER TABLE {clause}")
        for each, end in sorted(planned.end.items()):
            print(f"  {each.among(context.topic_ids)}: offsets {planned.start[each]} to {end}")
