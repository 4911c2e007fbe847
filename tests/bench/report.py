"""The result for readers: a JSON file, and a page of tables that leaves nothing out."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.bench.cells import SLOW_SECONDS
from tests.bench.plots import draw
from tests.bench.results import MEGABYTE, CellResult, Entry, Result
from tests.bench.statistics import spread
from tests.bench.targets import Target, in_rounds, targets, targets_of_growth

REFERENCE = "ours-batch"
INTRODUCTION = """\
# Benchmark

Written by `{command}`; the measurements themselves are in `result.json`.

Every contender settles the same batches from the same Kafka topic into a copy of the same table, in one run and one
JVM, in an order of chance, {rounds} counted rounds after the warm-up (who takes more than {slow:g} s a batch plays
each third of them). Times are medians, with the quarters to both sides. A contender whose table does not hold exactly
what was sent is marked, not ranked.
"""
LEGEND = f"""\
A cell is a table (how many times 210,384 rows, grown by years or by locations, and its layout) and a kind of batch.

- *Candidates*: the files that a batch's literal bounds cannot exclude, of those in the table.
- *Against ours*: the time in times of {REFERENCE}, with the 95 % interval of a bootstrap over rounds.
- A stream's seconds are those of its batch, without the start of the query.
- `-bounds`: given the same literal bounds, for free.
- `append` does not merge: it is the floor."""


GROWTH = """\
The rounds of these tables were played in turn: each round on every size before the next. A time at one size of that at
another is the median of the rounds' own ratios: a machine that gets slower or faster meanwhile is not in it."""


def promised(result: Result) -> list[Target]:
    """The targets of what was measured: of the growths only, if there is nothing else."""
    return targets_of_growth(result) if result.growth and not result.cells else targets(result)


def write_report(folder: Path, result: Result) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "result.json").write_text(result.model_dump_json(indent=1) + "\n")
    plots = draw(folder, result)
    (folder / "README.md").write_text("\n".join(page(result, plots)) + "\n")


def page(result: Result, plots: list[str]) -> Iterator[str]:
    is_growth = bool(result.growth and not result.cells)
    command = "make bench-growth" if is_growth else f"make bench{' QUICK=1' if result.quick else ''}"
    yield INTRODUCTION.format(command=command, rounds=result.rounds, slow=SLOW_SECONDS)
    machine, versions = result.machine, {**result.versions, "Java": result.java}
    yield f"Machine: {machine.cores} cores, {machine.memory_gib:.0f} GiB, {machine.system}."
    yield "Versions: " + ", ".join(f"{name} {version}" for name, version in versions.items()) + "."
    yield ""
    for why in result.left_out:
        yield f"Left out: {why}."
        yield ""
    yield "## Targets"
    yield ""
    yield from target_lines(promised(result))
    yield ""
    beside = "../" if is_growth else ""
    yield f"[profile.md]({beside}profile.md) tells where the time of a batch goes, and what holds back a missed figure."
    yield f"[settings.md]({beside}settings.md) tells what each setting of Spark and Delta is worth."
    if plots:
        yield ""
        yield "## Plots"
        yield ""
        yield from (f"![{name}]({name})" for name in plots)
    yield ""
    yield "## Cells"
    yield ""
    yield LEGEND
    for cell in result.cells.values():
        yield ""
        yield from cell_lines(cell)
    if result.growth:
        yield ""
        yield "## Growth"
        yield ""
        yield GROWTH
    for cell in result.growth.values():
        yield ""
        yield from cell_lines(cell)


def target_lines(found: list[Target]) -> Iterator[str]:
    yield "| target | measured | bound | | |"
    yield "| --- | ---: | ---: | --- | --- |"
    for target in found:
        value = "" if target.value is None else f"{target.value:.2f}"
        sign = "≤" if target.at_most else "≥"
        yield f"| {target.what} | {value} | {sign} {target.bound:g} | {target.verdict} | {target.note} |"


def cell_lines(cell: CellResult) -> Iterator[str]:
    yield f"### {cell.name}, {cell.rows} rows a batch"
    yield ""
    columns = ("s", "rows/s", "candidates", "MB read", "MB written", "MB replaced", "heap MB", "against ours")
    yield f"| contender | {' | '.join(columns)} |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for entry in sorted(cell.entries.values(), key=place_of):
        yield f"| {entry.contender} | {' | '.join(figures(cell, entry))} |"


def place_of(entry: Entry) -> tuple[bool, float]:
    """By speed; those that are not ranked come last."""
    return entry.wrong is not None, median(entry.seconds) if entry.runs else 0.0


def figures(cell: CellResult, entry: Entry) -> list[str]:
    if not entry.runs:
        return [""] * 7 + [entry.wrong or "not measured"]
    seconds = spread(entry.seconds)
    return [
        f"{seconds.median:.2f} ({seconds.low:.2f} – {seconds.high:.2f})",
        f"{cell.rows / seconds.median:,.0f}",
        f"{median(run.candidates for run in entry.runs):g} of {median(run.files for run in entry.runs):g}",
        megabytes(median(run.candidate_bytes for run in entry.runs)),
        megabytes(median(run.bytes_added for run in entry.runs)),
        megabytes(median(run.bytes_removed for run in entry.runs)),
        f"{entry.heap / MEGABYTE:,.0f}" if entry.heap is not None else "",
        entry.wrong or against_ours(cell, entry),
    ]


def megabytes(count: float) -> str:
    return f"{count / MEGABYTE:,.3f}"


def against_ours(cell: CellResult, entry: Entry) -> str:
    ours = cell.ranked(REFERENCE)
    if ours is None or entry.contender == REFERENCE:
        return ""
    found = in_rounds(entry, ours)
    return f"{found.value:.2f} ({found.low:.2f} – {found.high:.2f})"


def print_targets(result: Result) -> int:
    """Gives how many were missed."""
    found = promised(result)
    for target in found:
        value = "-" if target.value is None else f"{target.value:.2f}"
        sign = "<=" if target.at_most else ">="
        print(f"{target.verdict:<13}{value:>8} {sign} {target.bound:<4g} {target.what}")
    missed = sum(1 for target in found if target.verdict == "MISSED")
    print(f"\n{missed} of {len(found)} figures missed", flush=True)
    return missed
