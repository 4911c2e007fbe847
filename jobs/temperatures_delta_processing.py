"""TemperaturesDeltaProcessing: the base load, parquet files into a new Delta table."""

import click

from common.cli import job
from common.delta.lock import job_lock
from common.operations.base_load import load_base, refuse_existing
from common.settings.load import read_pipeline
from common.settings.locations import location, require_parquet
from common.settings.remedies import tell
from common.spark.session import start_session


@job("temperatures_delta_processing")
@click.command()
@click.argument("input_dir")
@click.argument("delta_dir")
@click.option("--pipeline", "name", default="temperatures", show_default=True, help="A file of conf/pipelines.")
@click.option("--overwrite", is_flag=True, help="Replace an existing table and begin a new epoch.")
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
def main(*, input_dir: str, delta_dir: str, name: str, overwrite: bool, dry_run: bool) -> None:
    """Load the parquet files of INPUT_DIR as the Delta table DELTA_DIR."""
    pipeline = read_pipeline(name)
    source, table = location(input_dir), location(delta_dir)
    tell(PIPELINE=name, INPUT_DIR=str(source), DELTA_DIR=str(table))
    require_parquet(source)
    refuse_existing(table, overwrite=overwrite)
    if dry_run:
        print(f"Would load {source} into {table}")
        return
    with job_lock(table):
        spark = start_session("TemperaturesDeltaProcessing")
        rows = load_base(spark, pipeline, source, table, overwrite=overwrite)
    print(f"Loaded {rows} rows into {table}")


if __name__ == "__main__":
    main()
