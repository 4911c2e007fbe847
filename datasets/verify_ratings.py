"""Check that a Delta table holds exactly what the ratings that were sent add up to, with delta-rs instead of Spark."""

from itertools import chain

import click
from deltalake import DeltaTable

from common.cli import job
from common.errors import AlluviumError
from datasets.ratings.events import events
from datasets.ratings.expectation import Model, Row

COLUMNS = ("event_id", "user_id", "movie_id", "rating", "is_approved", "rating_timestamp", "rating_date")


def rows_of(delta_dir: str) -> list[Row]:
    held = DeltaTable(delta_dir).to_pyarrow_table(columns=list(COLUMNS))
    return list(zip(*(held.column(name).to_pylist() for name in COLUMNS), strict=True))


@job("verify_ratings")
@click.command()
@click.argument("delta_dir")
@click.option("--seed", "seeds", type=int, multiple=True, required=True, help="In the order in which they were sent.")
@click.option("--count", type=int, required=True, help="Events of each.")
@click.option("--at", type=int, required=True, help="The producer's --at.")
def main(delta_dir: str, seeds: tuple[int, ...], count: int, at: int) -> None:
    """Compare the ratings in DELTA_DIR, value by value, with a plain-Python model of what the producer has sent."""
    model = Model(chain.from_iterable(events(seed, count, at) for seed in seeds))
    found = rows_of(delta_dir)
    if sorted(found) != sorted(model.rows.values()):
        differing = len(set(found) ^ set(model.rows.values()))
        raise AlluviumError(
            f"{delta_dir} has {len(found):,} rows, the model {len(model.rows):,}, and {differing:,} differ",
            "settle the rest of the topic, or say the producer's own --seed, --count and --at",
        )
    click.echo(
        f"{model.count:,} messages were sent, {len(found):,} ratings stand in the table, each as its last message"
    )
    click.echo(f"{model.repeated:,} duplicates and updates, {model.late:,} too late, {model.reasons.total():,} broken")


if __name__ == "__main__":
    main()
