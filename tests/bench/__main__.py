"""The benchmark: real Kafka to real tables, every contender in one run on the same data.

    make bench                 everything: hours on 2 cores; an interrupted run goes on with the first missing cell
    make bench QUICK=1         small tables and few rounds, minutes: for every commit
    make bench-growth          ours and the append on tables of every size in turn: 25 minutes once these are there

What was promised is printed beside what was measured; a missed figure fails the command only with --strict.
"""

import hashlib
import logging
import os
import platform
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, cast

import click
import structlog

from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from submit.jars import LOCK, read_lock
from submit.package import zipped
from tests.bench.catch_up import BASE, catch_up
from tests.bench.cells import (
    ALL,
    FEED,
    Base,
    Cell,
    Growth,
    full_cells,
    full_growths,
    quick_cells,
    quick_growths,
    seconds_of,
    selected,
    selected_growths,
)
from tests.bench.data import BYTES_A_SCALE, Bases, has_room
from tests.bench.heap import Heap
from tests.bench.memory import merge_with_small_heap
from tests.bench.report import print_targets, write_report
from tests.bench.results import Kept, Machine, Result
from tests.bench.rounds import Plays, Stage, play, play_in_turn
from tests.bench.session import start_spark
from tests.support.broker import Broker
from tests.support.commands import ROOT

VAR = ROOT / "var" / "bench"
DOCS = ROOT / "docs" / "bench"
FULL, QUICK = Plays(rounds=15, warm_ups=3, seed=1), Plays(rounds=3, warm_ups=2, seed=1)
# Events of the catch-up, and how often it is repeated.
FULL_CATCH_UP, QUICK_CATCH_UP = (500_000, 5), (50_000, 1)


def tell(what: str) -> None:
    print(what, flush=True)


@contextmanager
def set_up(folder: Path) -> Iterator[Stage]:
    """One broker and one JVM for the whole run."""
    # Told to end, it still stops what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    home = folder / "kafka"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    # Of the engine its warnings only, and not where its contenders print: a slower way must not be taken in silence.
    warnings = structlog.make_filtering_bound_logger(logging.WARNING)
    structlog.configure(wrapper_class=warnings, logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    kafka = Kafka(home=home, port=free_port())
    kafka.start()
    try:
        spark = start_spark(folder)
        try:
            yield Stage(spark, Broker(kafka.address), Bases(spark, folder), Heap(spark), folder, tell)
        finally:
            spark.stop()
    finally:
        kafka.stop()


def new_result(plays: Plays, *, quick: bool) -> Result:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = Machine(
        cores=os.cpu_count() or 0, memory_gib=round(memory, 1), system=f"{platform.system()} {platform.machine()}"
    )
    engine = hashlib.sha256(zipped(ROOT / "common")).hexdigest()[:16]
    return Result(
        quick=quick, seed=plays.seed, rounds=plays.rounds, engine=engine, machine=machine, versions=versions()
    )


def versions() -> dict[str, str]:
    groups = read_lock(LOCK.read_text())
    jars = {each.name: each.rev for group in ("spark", "kafka", "iceberg") for each in groups[group]}
    return {
        "Spark": version("pyspark"),
        "Delta": jars["delta-spark_4.0_2.13"],
        "delta-rs": version("deltalake"),
        "Iceberg": jars["iceberg-spark-runtime-4.0_2.13"],
        "Kafka": jars["kafka_2.13"],
        "Python": platform.python_version(),
    }


def with_room(cells: Sequence[Cell], result: Result) -> list[Cell]:
    """What the disk does not hold is left out, and said."""
    found = []
    for cell in cells:
        if has_room(VAR, cell.base):
            found.append(cell)
        else:
            needed = cell.base.scale * BYTES_A_SCALE / 10**9
            result.left_out.append(f"{cell.name}, because it needs {needed:.0f} GB of disk")
    return found


def growths_with_room(growths: Sequence[Growth], result: Result) -> list[Growth]:
    return [replace(each, bases=[cell.base for cell in with_room(each.cells, result)]) for each in growths]


def is_measured(growth: Growth, result: Result) -> bool:
    return all(cell.name in result.growth for cell in growth.cells)


def measure_growths(stage: Stage, growths: Sequence[Growth], kept: Kept, plays: Plays) -> None:
    """A growth is kept as a whole: half of its rounds would have no partners."""
    for growth in growths:
        sizes = ", ".join(base.size for base in growth.bases)
        tell(f"{growth.name}: {sizes} in turn; about {seconds_of(growth.cells, plays.total) / 60:.0f} minutes")
        began = monotonic()
        kept.result.growth |= {each.name: each for each in play_in_turn(growth.cells, stage, plays)}
        kept.keep()
        tell(f"  took {(monotonic() - began) / 60:.1f} minutes")


def measure(stage: Stage, missing: Sequence[Cell], kept: Kept, plays: Plays) -> None:
    for number, cell in enumerate(missing):
        left = seconds_of(missing[number:], plays.total)
        tell(f"{cell.name}: {len(cell.contenders)} contenders; about {left / 60:.0f} minutes left for the cells")
        began = monotonic()
        kept.result.cells[cell.name] = play(cell, stage, plays)
        kept.keep()
        tell(f"  took {(monotonic() - began) / 60:.1f} minutes")


def measure_catch_up(stage: Stage, kept: Kept, plays: Plays, *, quick: bool) -> None:
    if kept.result.catch_up is None and has_room(VAR, BASE):
        count, rounds = QUICK_CATCH_UP if quick else FULL_CATCH_UP
        tell(f"catch-up of {count:,} events")
        kept.result.catch_up = catch_up(stage, count=count, rounds=rounds, seed=plays.seed)
        kept.keep()


def measure_memory(stage: Stage, base: Base, kept: Kept, plays: Plays) -> None:
    if kept.result.memory is None:
        tell(f"memory: a merge into {base.name} with a small heap")
        kept.result.memory = merge_with_small_heap(stage, base, plays.seed)
        kept.keep()


def largest(cells: Sequence[Cell]) -> Base:
    """Partitioned, as a pipeline has it."""
    return replace(max((cell.base for cell in cells), key=lambda base: base.scale), layout="partitioned")


@click.command()
@click.option("--quick", is_flag=True, help="Small tables, few rounds: minutes.")
@click.option("--only", multiple=True, help="Cells whose name contains this, nothing besides; as often as needed.")
@click.option("--growth", "only_growth", is_flag=True, help="Only the growths, to docs/bench/growth.")
@click.option("--contender", "contenders", multiple=True, type=click.Choice((*ALL, FEED)), help="Only these.")
@click.option("--rounds", type=click.IntRange(min=1), help="Counted rounds instead of 15, or 3 with --quick.")
@click.option("--so-far", is_flag=True, help="Measure nothing: write what an interrupted run has measured.")
@click.option("--strict", is_flag=True, help="Exit with 1 if a figure misses.")
def main(
    *,
    quick: bool,
    only: tuple[str, ...],
    only_growth: bool,
    contenders: tuple[str, ...],
    rounds: int | None,
    so_far: bool,
    strict: bool,
) -> None:
    """Measure every contender, and write tables and plots: to docs/bench, or to var/bench/quick with --quick."""
    VAR.mkdir(parents=True, exist_ok=True)
    plays = QUICK if quick else FULL
    plays = Plays(rounds or plays.rounds, plays.warm_ups, plays.seed)
    is_partial = bool(only or contenders)
    result = new_result(plays, quick=quick)
    growths = growths_with_room(
        selected_growths(quick_growths() if quick else full_growths(), only, contenders), result
    )
    named = [] if only_growth else selected(quick_cells() if quick else full_cells(), only, contenders)
    cells = with_room(named, result)
    kind = "part" if is_partial else "quick" if quick else "full"
    kept = Kept(VAR / f"{kind}{'-growth' if only_growth else ''}.json", result, anew=is_partial)
    missing = [cell for cell in cells if cell.name not in kept.result.cells]
    missing_growths = [growth for growth in growths if not is_measured(growth, kept.result)]
    tell(f"{len(kept.result.cells)} of {len(cells)} cells were measured before")
    if so_far:
        unmeasured = [*missing, *missing_growths]
        kept.result.left_out += [f"{each.name}, because the run was interrupted" for each in unmeasured]
    else:
        with set_up(VAR) as stage:
            kept.result.java = str(cast("Any", stage.spark._jvm).java.lang.System.getProperty("java.version"))
            measure_growths(stage, missing_growths, kept, plays)
            if not (is_partial or only_growth):
                measure_catch_up(stage, kept, plays, quick=quick)
            at = 1 + max((number for number, cell in enumerate(missing) if cell.base == largest(cells)), default=-1)
            measure(stage, missing[:at], kept, plays)
            if not (is_partial or only_growth):
                measure_memory(stage, largest(cells), kept, plays)
            measure(stage, missing[at:], kept, plays)
    folder = (VAR / kind if quick or is_partial else DOCS) / ("growth" if only_growth else "")
    write_report(folder, kept.result)
    missed = print_targets(kept.result)
    tell(f"tables and plots are in {folder.relative_to(ROOT)}")
    if not is_partial and not so_far:
        kept.forget()
    sys.exit(1 if strict and missed else 0)


if __name__ == "__main__":
    main()
