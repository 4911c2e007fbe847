"""When it is done: each figure that was promised, beside the one that was measured."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from tests.bench.cells import DELTA_RS, FEED, ICEBERG, OURS
from tests.bench.results import Entry, Result, Run
from tests.bench.statistics import Ratio, paired_ratio, ratio, ratio_in_rounds, share

NEWEST, LATE = "newest-144", "late-144"
LARGE = ("100x-years", "100x-locations", "1000x-locations")


@dataclass(frozen=True)
class Target:
    """`value` is None where nothing was measured; `at_most` says on which side of the bound it must lie."""

    what: str
    value: float | None
    bound: float
    at_most: bool
    note: str = ""

    @property
    def verdict(self) -> str:
        if self.value is None:
            return "not measured"
        return "met" if (self.value <= self.bound if self.at_most else self.value >= self.bound) else "MISSED"


def targets(result: Result) -> list[Target]:
    return [
        *targets_of_growth(result),
        *(each for contender in OURS for each in of_rivals(result, contender)),
        *(each for contender in OURS for each in of_small_batches(result, contender)),
        of_catch_up(result),
        of_memory(result),
    ]


def targets_of_growth(result: Result) -> list[Target]:
    """What the growths alone can tell."""
    return [
        *(each for contender in OURS for each in of_growth(result, contender)),
        *(each for contender in OURS for each in of_late(result, contender)),
        *of_feed(result),
    ]


def of_growth(result: Result, contender: str) -> Iterator[Target]:
    """The cost follows the batch, not the table."""
    one = result.grown("1x", NEWEST, contender)
    for size in LARGE:
        large = result.grown(size, NEWEST, contender)
        for what, figure in (("candidate files", candidates), ("bytes of candidates", candidate_bytes)):
            value = None if one is None or large is None else share(middle(large, figure), middle(one, figure))
            yield Target(f"{contender}, newest hours: {what} at {size} of those at 1x", value, 1.1, at_most=True)
        bound = 1.5 if size.startswith("1000x") else 1.3
        yield growth(f"{contender}, newest hours: time at {size} of that at 1x, upper end", one, large, bound)


def of_rivals(result: Result, contender: str) -> Iterator[Target]:
    for size in LARGE:
        wanted = 8.0 if size.startswith("1000x") else 2.0
        yield times_faster(result, size, contender, ("tuned",), wanted)
        yield times_faster(result, size, contender, DELTA_RS, 1.0)
        yield times_faster(result, size, contender, ICEBERG, 1.0)
    yield times_faster(result, "1x", contender, ICEBERG, 1.0)


def of_late(result: Result, contender: str) -> Iterator[Target]:
    """One late row must not widen the bounds to the whole history."""
    one = result.grown("1x", LATE, contender)
    for size in ("100x-years", "100x-locations"):
        large = result.grown(size, LATE, contender)
        value = None if large is None else max(share(run.candidates, run.holding) for run in large.runs)
        what = f"{contender}, 1 % late: candidate files at {size} of those that hold a key's range"
        yield Target(what, value, 1.0, at_most=True)
        yield growth(f"{contender}, 1 % late: time at {size} of that at 1x", one, large, 1.5, is_upper_end=False)


def of_small_batches(result: Result, contender: str) -> Iterator[Target]:
    for size in ("1x", "100x-years", "100x-locations"):
        for batch, way, bound in (("new-144", "the append path", 1.3), (NEWEST, "MERGE or rewrite", 3.0)):
            ours, floor = result.entry(size, batch, contender), result.entry(size, batch, "append")
            found = None if ours is None or floor is None else in_rounds(ours, floor)
            what = f"{contender}, {batch} at {size}: time of that of a plain append, through {way}"
            yield Target(what, value_of(found), bound, at_most=True, note=noted(found, ours))


def of_feed(result: Result) -> Iterator[Target]:
    """A change feed is written by the same commit, and costs little."""
    for size in ("1x", *LARGE):
        without, with_feed = (result.grown(size, NEWEST, contender) for contender in ("ours-batch", FEED))
        what = f"ours-batch, {NEWEST} at {size}: time with a change feed of that without it"
        yield growth(what, without, with_feed, 1.3, is_upper_end=False)


def of_catch_up(result: Result) -> Target:
    found = result.catch_up
    value = None if found is None or found.wrong is not None else ratio(found.append, found.ours)
    what = "catch-up: events a second, of the rate of decoding and plainly appending"
    note = "" if found is None else found.wrong or f"{found.events:,} events; {profile([found.stages])}"
    return Target(what, value_of(value), 0.5, at_most=False, note=note)


def of_memory(result: Result) -> Target:
    found = result.memory
    value = None if found is None else float(found.exit_code)
    note = "" if found is None else f"{found.rows:,} rows into {found.base}, {found.seconds:.0f} s; {found.said}"
    return Target("memory: exit code of a merge with a 1 GiB driver heap", value, 0.0, at_most=True, note=note)


def growth(what: str, one: Entry | None, large: Entry | None, bound: float, *, is_upper_end: bool = True) -> Target:
    if one is None or large is None:
        return Target(what, None, bound, at_most=True)
    found = ratio_in_rounds(*large.beside(one))
    value = found.high if is_upper_end else found.value
    return Target(what, value, bound, at_most=True, note=noted(found, large))


def times_faster(result: Result, size: str, contender: str, rivals: Sequence[str], wanted: float) -> Target:
    """Against the best of the rivals that were there."""
    ours = result.entry(size, NEWEST, contender)
    found = {}
    for rival in rivals:
        entry = result.entry(size, NEWEST, rival)
        if ours is not None and entry is not None:
            found[rival] = in_rounds(entry, ours)
    what = f"{contender}, newest hours at {size}: times faster than {named(rivals)}"
    if not found:
        return Target(what, None, wanted, at_most=False)
    best = min(found, key=lambda rival: found[rival].value)
    return Target(what, found[best].value, wanted, at_most=False, note=f"{best}: {noted(found[best], ours)}")


def named(rivals: Sequence[str]) -> str:
    return rivals[0] if len(rivals) == 1 else f"every {rivals[0].removesuffix('-cow')}"


def in_rounds(above: Entry, below: Entry) -> Ratio:
    return paired_ratio(*above.beside(below))


def candidates(run: Run) -> int:
    return run.candidates


def candidate_bytes(run: Run) -> int:
    return run.candidate_bytes


def middle(entry: Entry, figure: Callable[[Run], int]) -> float:
    return median(figure(run) for run in entry.runs)


def value_of(found: Ratio | None) -> float | None:
    return None if found is None else found.value


def noted(found: Ratio | None, entry: Entry | None) -> str:
    """The interval, and where our time goes: what holds a figure back that misses."""
    if found is None or entry is None:
        return ""
    stages = profile([run.stages for run in entry.runs])
    return f"95 %: {found.low:.2f} – {found.high:.2f}" + (f"; {stages}" if stages else "")


def profile(runs: Sequence[dict[str, float]]) -> str:
    names = list(dict.fromkeys(stage for stages in runs for stage in stages))
    seconds = {name: median(stages.get(name, 0.0) for stages in runs) for name in names}
    return ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items() if value >= 0.005)
