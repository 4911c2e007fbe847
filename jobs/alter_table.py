"""AlterTable: run clauses of ALTER TABLE on a table, in turn with the jobs that write to it."""

import click

from common.cli import job
from common.operations.alteration import alter
from common.settings.locations import location, require_delta_table
from common.spark.session import start_session


@job("alter_table")
@click.command()
@click.argument("delta_dir")
@click.argument("clauses", metavar="CLAUSE...", nargs=-1, required=True)
@click.option("--execute", is_flag=True, help="Do it; without this only the statements are printed.")
def main(*, delta_dir: str, clauses: tuple[str, ...], execute: bool) -> None:
    """Alter the Delta table DELTA_DIR by each CLAUSE in turn, such as "ADD COLUMNS (city string)".

    A CLAUSE is what stands behind ALTER TABLE and the table's name, in Spark's SQL. Jobs that write to the table may
    run meanwhile: it takes the commit lock.
    """
    table = location(delta_dir)
    require_delta_table(table)
    alter(start_session("AlterTable"), table, clauses, execute=execute)


if __name__ == "__main__":
    main()
