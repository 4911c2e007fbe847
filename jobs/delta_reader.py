"""DeltaReader: count the rows of a table, in all and by group."""

import click

from common.cli import job
from common.present.counts import print_counts
from common.settings.locations import location, require_delta_table
from common.settings.remedies import tell
from common.spark.session import start_session


@job("delta_reader")
@click.command()
@click.argument("delta_dir")
@click.option(
    "--group-by", default="latitude,longitude", show_default=True, help="Columns, separated by commas; '' for none."
)
@click.option("--version", type=click.IntRange(min=0), help="Read the table as it was at this version.")
def main(*, delta_dir: str, group_by: str, version: int | None) -> None:
    """Print the number of rows of the Delta table DELTA_DIR, then the counts by group."""
    table = location(delta_dir)
    tell(DELTA_DIR=str(table))
    require_delta_table(table)
    columns = [name.strip() for name in group_by.split(",") if name.strip()]
    print_counts(start_session("DeltaReader"), table, columns, version)


if __name__ == "__main__":
    main()
