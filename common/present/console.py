"""What a driver prints: the schemas it works with and the rows of each batch."""

from pyspark.sql import DataFrame

from common.engine.start import RunState
from common.model.offsets import plan
from common.settings.pipeline import Pipeline

NOTHING_CHANGED = "Nothing was changed; --execute does it."


def announce_schemas(rows: DataFrame, pipeline: Pipeline) -> None:
    print("Raw schema from kafka read...")
    rows.printSchema()
    print(f"Converting to a regular {pipeline.source.format} df from value column")
    print(f"Schema after conversion from value to {pipeline.source.format} dataset...")
    rows.sparkSession.createDataFrame([], pipeline.source.ddl).printSchema()


def print_rows(count: int) -> None:
    print(f"Total number of rows :{count}", flush=True)


def print_plan(start: RunState) -> None:
    """Print what the next batch would read. Nothing is read or written for it."""
    planned = plan(start.position.offsets, start.available, start.context.pipeline.source.max_records_per_batch)
    where = f"Epoch {start.position.epoch}, transaction {start.position.seq + 1}"
    print(f"{where}: {planned.records} records of {start.context.topic.name}")
    for clause in start.context.fit.pending:
        print(f"  before it: ALTER TABLE {clause}")
    for partition, end in sorted(planned.end.items()):
        print(f"  partition {partition}: offsets {planned.start[partition]} to {end}")
