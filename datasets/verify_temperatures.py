"""Check that a Delta table holds exactly what base, stream and corrections of a dataset add up to."""

from pathlib import Path

import click

from common.cli import job
from common.errors import AlluviumError
from datasets.weather.comparison import Comparison, compare, read_rows
from datasets.weather.expectation import Kind, read_expectation

CLAIMS = {
    Kind.CORRECTED: "corrected hours hold the corrected value",
    Kind.STREAMED: "streamed hours hold the streamed value",
    Kind.UNTOUCHED: "untouched hours hold the base value",
}


def verify(dataset: Path, delta_dir: str) -> Comparison:
    return compare(read_expectation(dataset), read_rows(delta_dir))


def claims(found: Comparison) -> list[str]:
    return [f"{found.right[kind]:,} of {found.expected[kind]:,} {claim}" for kind, claim in CLAIMS.items()]


@job("verify_temperatures")
@click.command()
@click.argument("dataset", metavar="OUT", type=click.Path(path_type=Path))
@click.argument("delta_dir")
def main(dataset: Path, delta_dir: str) -> None:
    """Compare the Delta table at DELTA_DIR with the dataset at OUT, hour by hour, without Spark."""
    found = verify(dataset, delta_dir)
    click.echo("\n".join(claims(found)))
    if found.wrong:
        raise AlluviumError(
            f"{delta_dir} differs in {found.wrong:,} places, the first: {found.first_wrong}",
            "merge the rest of the stream, or load the base anew",
        )
    click.echo(f"{found.rows:,} rows, no key twice")


if __name__ == "__main__":
    main()
