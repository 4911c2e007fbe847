"""Maintenance: what keeps a table healthy, beside a running stream."""

import click

from common.cli import job
from common.pipeline.compaction import compact, plan_compaction
from common.session import start_session
from common.settings.locations import location, require_delta_table

MEBIBYTE = 1024 * 1024


@click.group()
def maintenance() -> None:
    """Keep a Delta table healthy. A running stream is not stopped: both wait for each other's commits."""


@maintenance.command("compact")
@click.argument("delta_dir")
@click.option(
    "--target-mib", type=click.IntRange(min=1), default=128, show_default=True, help="The size of a full file."
)
@click.option("--execute", is_flag=True, help="Do it; without this only the plan is printed.")
def compact_command(*, delta_dir: str, target_mib: int, execute: bool) -> None:
    """Rewrite the small files of DELTA_DIR into few, partition by partition."""
    table = location(delta_dir)
    require_delta_table(table)
    spark = start_session("Maintenance")
    chunks = plan_compaction(spark, table, target_mib * MEBIBYTE)
    print(f"{len(chunks)} partitions of {table} have files to compact")
    for chunk in chunks:
        print(f"  {chunk}")
    if not execute:
        print("Nothing was changed; --execute does it.")
        return
    for number, chunk in enumerate(compact(spark, table, chunks, target_mib * MEBIBYTE), start=1):
        print(f"[{number}/{len(chunks)}] compacted {chunk}", flush=True)


main = job("maintenance")(maintenance)

if __name__ == "__main__":
    main()
