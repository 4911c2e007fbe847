"""Plots of the newest-hours batches against the size of the table."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt

from tests.bench.cells import ALL
from tests.bench.results import CellResult, Entry, Result

BATCH = "newest-144"
GROWTHS = ("years", "locations")
SIZE = (11, 4.5)
Figure = Callable[[CellResult, Entry], float]


def draw(folder: Path, result: Result) -> list[str]:
    """The plots that the result has points for, by their file names."""
    figures: dict[str, tuple[str, Figure]] = {
        "seconds": ("seconds per merge", lambda _, entry: median(entry.seconds)),
        "rate": ("rows a second", lambda cell, entry: cell.rows / median(entry.seconds)),
        "candidates": ("candidate files, of all files", lambda _, entry: median(share(entry))),
    }
    cells = [cell for cell in result.cells.values() if cell.batch == BATCH and cell.layout == "partitioned"]
    if not cells:
        return []
    names = []
    for name, (label, figure) in figures.items():
        draw_one(folder / f"{name}.png", cells, label, figure)
        names.append(f"{name}.png")
    return names


def share(entry: Entry) -> list[float]:
    return [run.candidates / run.files for run in entry.runs]


def draw_one(path: Path, cells: list[CellResult], label: str, figure: Figure) -> None:
    plot, sides = plt.subplots(1, len(GROWTHS), figsize=SIZE, sharey=True, layout="constrained")
    for side, growth in zip(sides, GROWTHS, strict=True):
        shown = sorted((cell for cell in cells if cell.scale == 1 or cell.grow == growth), key=lambda cell: cell.scale)
        for number, contender in enumerate(ALL):
            points = [(cell.scale, figure(cell, entry)) for cell in shown if (entry := cell.ranked(contender))]
            if points:
                ours = contender.startswith("ours")
                side.plot(
                    *zip(*points, strict=True),
                    marker="o",
                    color=f"C{number % 10}",
                    linewidth=2.5 if ours else 1.2,
                    linestyle="--" if contender.endswith("-bounds") else "-",
                    label=contender,
                )
        side.set(xscale="log", yscale="log", xlabel=f"times 210,384 rows, grown by {growth}", title=BATCH)
        side.grid(visible=True, which="major", alpha=0.3)
    sides[0].set_ylabel(label)
    plot.legend(*sides[0].get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    plot.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(plot)
