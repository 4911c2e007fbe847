"""Generate hourly temperatures: four years of base parquet, half a year of stream, corrections among it."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

import click

from common.cli import job
from datasets.directory import MANIFEST, check_free, is_made_of, written_whole
from datasets.weather.base import write_base
from datasets.weather.corrections import corrections
from datasets.weather.extent import Extent, Grow, extent
from datasets.weather.places import Place, places
from datasets.weather.streaming import write_corrections, write_location_master, write_weather

VERSION = 1


@dataclass(frozen=True)
class Parameters:
    """The parameters that decide every byte: a dataset of the same parameters is the same dataset."""

    seed: int
    scale: int
    grow: Grow
    generator: str = "temperatures"
    version: int = VERSION


@dataclass(frozen=True)
class Summary:
    locations: int
    base_rows: int
    base_files: int
    stream_rows: int
    corrections: int

    def __str__(self) -> str:
        new = self.stream_rows - self.corrections
        return (
            f"{self.base_rows:,} base rows in {self.base_files} files, {self.locations:,} locations\n"
            f"{self.stream_rows:,} streamed rows: {new:,} new hours, {self.corrections:,} corrections"
        )


def generate(out: Path, parameters: Parameters, *, overwrite: bool = False) -> Summary:
    """Write the whole dataset to `out`, which afterwards is either complete or as it was."""
    size = extent(parameters.scale, parameters.grow)
    check_free(out, overwrite=overwrite)
    with written_whole(out) as folder:
        summary = _write(folder, parameters.seed, places(size.place_count, parameters.seed), size)
        (folder / MANIFEST).write_text(json.dumps({**asdict(parameters), **asdict(summary)}, indent=2) + "\n")
    return summary


def _write(folder: Path, seed: int, where: list[Place], size: Extent) -> Summary:
    files = write_base(folder / "base", seed, where, size)
    corrected = corrections(seed, where, size)
    write_corrections(folder / "corrections.json", where, corrected)
    (folder / "streaming").mkdir()
    write_location_master(folder / "streaming" / "location_master.json", where)
    stream_rows = write_weather(folder / "streaming" / "weather.json", seed, where, corrected)
    return Summary(len(where), len(where) * size.base_hours, files, stream_rows, len(corrected))


@job("temperatures")
@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--seed", default=1, show_default=True, help="Another seed, other weather and other corrections.")
@click.option("--scale", default=1, show_default=True, help="How many times the 210,384 rows of the original.")
@click.option("--grow", type=click.Choice(get_args(Grow)), default="years", show_default=True, help="How to scale.")
@click.option("--overwrite", is_flag=True, help="Replace the dataset at OUT.")
@click.option("--if-missing", is_flag=True, help="Do nothing if OUT already is this very dataset.")
def main(out: Path, *, seed: int, scale: int, grow: Grow, overwrite: bool, if_missing: bool) -> None:
    """Write base/, streaming/ and corrections.json to OUT, the same bytes for the same seed."""
    parameters = Parameters(seed, scale, grow)
    out = out.resolve()
    if if_missing and is_made_of(out, asdict(parameters)):
        click.echo(f"{out} is there already")
        return
    click.echo(generate(out, parameters, overwrite=overwrite))


if __name__ == "__main__":
    main()
