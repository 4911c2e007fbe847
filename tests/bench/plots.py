"""Plots of the newest-hours batches against the size of the table."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import StrMethodFormatter

from tests.bench.cells import ALL
from tests.bench.results import MEGABYTE, CellResult, Entry, Result

BATCH = "newest-144"
GROWTHS = ("years", "locations")
SIZE = (11, 4.5)
BOUNDED = "-bounds"
# With bounds and without them, a contender has one colour.
FAMILIES = list(dict.fromkeys(name.removesuffix(BOUNDED) for name in ALL))
# None where there is nothing to show, or nothing that a logarithmic scale can show.
Figure = Callable[[CellResult, Entry], float | None]


def draw(folder: Path, result: Result) -> list[str]:
    """The plots that the result has points for, by their file names."""
    figures: dict[str, tuple[str, Figure]] = {
        "seconds": ("seconds per merge", lambda _, entry: median(entry.seconds)),
        "rate": ("rows a second", lambda cell, entry: cell.rows / median(entry.seconds)),
        "candidates": ("candidate files, of all files", lambda _, entry: median(share(entry))),
        "rewritten": ("MB written", lambda _, entry: median(run.bytes_added for run in entry.runs) / MEGABYTE),
        "heap": ("peak heap, MB", lambda _, entry: entry.heap and entry.heap / MEGABYTE),
    }
    cells = [cell for cell in result.cells.values() if cell.batch == BATCH and cell.layout == "partitioned"]
    if not cells:
        return []
    for name, (label, figure) in figures.items():
        draw_one(folder / f"{name}.png", cells, label, figure)
    return [f"{name}.png" for name in figures]


def share(entry: Entry) -> list[float]:
    return [run.candidates / run.files for run in entry.runs]


def draw_one(path: Path, cells: list[CellResult], label: str, figure: Figure) -> None:
    plot, sides = plt.subplots(1, len(GROWTHS), figsize=SIZE, sharey=True, layout="constrained")
    for side, growth in zip(sides, GROWTHS, strict=True):
        shown = sorted((cell for cell in cells if cell.scale == 1 or cell.grow == growth), key=lambda cell: cell.scale)
        for contender in ALL:
            draw_line(side, contender, points_of(contender, shown, figure))
        sizes = sorted({cell.scale for cell in cells})
        side.set(xscale="log", yscale="log", xlabel=f"times 210,384 rows, grown by {growth}")
        side.set_xticks(sizes, [f"{size:,}" for size in sizes])
        side.minorticks_off()
        side.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        side.grid(visible=True, which="major", alpha=0.3)
    sides[0].set_ylabel(label)
    plot.suptitle("144 rows of the newest hours, half of them updates; dashed: given the bounds of the batch")
    # A contender may be on one side only.
    legend = {name: line for side in sides for line, name in zip(*side.get_legend_handles_labels(), strict=True)}
    plot.legend(legend.values(), legend.keys(), loc="outside right upper", fontsize="small")
    plot.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(plot)


def points_of(contender: str, cells: list[CellResult], figure: Figure) -> list[tuple[int, float]]:
    entries = [(cell, entry) for cell in cells if (entry := cell.ranked(contender))]
    return [(cell.scale, value) for cell, entry in entries if (value := figure(cell, entry))]


def draw_line(side: Axes, contender: str, points: list[tuple[int, float]]) -> None:
    if points:
        side.plot(
            *zip(*points, strict=True),
            marker="o",
            color=f"C{FAMILIES.index(contender.removesuffix(BOUNDED))}",
            linewidth=2.5 if contender.startswith("ours") else 1.2,
            linestyle="--" if contender.endswith(BOUNDED) else "-",
            label=contender,
        )
