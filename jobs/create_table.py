"""CreateTable: create an empty Delta table as a pipeline declares it, ready for its first batch."""

import click

from common.cli import job
from common.operations.create_table import create_or_compare
from common.settings.load import read_pipeline
from common.settings.remedies import tell
from common.settings.table_paths import chosen_table
from common.spark.session import start_session


@job("create_table")
@click.command()
@click.argument("name", metavar="PIPELINE")
@click.argument("delta_dir", required=False)
@click.option("--dry-run", is_flag=True, help="Check everything, write nothing.")
def main(*, name: str, delta_dir: str | None, dry_run: bool) -> None:
    """Create the table of PIPELINE without rows, in DELTA_DIR or where the pipeline's file says.

    A table that is there stays as it is: exit code 0 if it fits the pipeline, 2 with the difference if not.
    """
    pipeline, table = read_pipeline(name), chosen_table(delta_dir, name)
    tell(PIPELINE=name, DELTA_DIR=str(table), TOPIC=pipeline.source.topic)
    create_or_compare(start_session("CreateTable"), pipeline, table, dry_run=dry_run)


if __name__ == "__main__":
    main()
