"""The benchmark's own parts, without a server: batches, bounds, a table's files, verdicts, the page."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.__main__ import is_measured
from tests.bench.batches import Batches, Mixture, records
from tests.bench.bounds import SPANS, bound_of, exact_bound_of
from tests.bench.cells import (
    ALL,
    FEED,
    Base,
    BatchName,
    Cell,
    full_cells,
    full_growths,
    quick_cells,
    selected,
    selected_growths,
)
from tests.bench.data import makers
from tests.bench.files import DeltaFiles, Reach, Rewrite
from tests.bench.line_up import MAKERS
from tests.bench.report import against_ours, write_report
from tests.bench.results import CatchUp, CellResult, Entry, Kept, Machine, Memory, Result, Run
from tests.bench.rounds import in_turn
from tests.bench.targets import LARGE, targets

ONE = Base(1, "years", "partitioned")
HUNDRED = Base(100, "locations", "partitioned")


@pytest.mark.parametrize("name", ["new-144", "newest-144", "newest-2000", "late-144", "random-144"])
def test_batches_are_as_large_as_their_name_says_and_repeatable(name: BatchName) -> None:
    batches = Batches(ONE, name)
    for number in (0, 7):
        rows = batches.batch(number)
        assert len({row.key for row in rows}) == len(rows) == int(name.split("-")[1])
        assert rows == Batches(ONE, name).batch(number)
    assert batches.batch(0) != batches.batch(1)


def test_the_newest_hours_do_not_depend_on_the_size_of_the_table() -> None:
    small, large = (sorted(row.key for row in Batches(base, "newest-144").batch(3)) for base in (ONE, HUNDRED))
    assert small == large


def test_half_of_a_newest_batch_is_what_the_batch_before_brought_as_new() -> None:
    batches = Batches(ONE, "newest-144")
    before, after = ({row.key for row in batches.batch(number)} for number in (4, 5))
    assert len(before & after) == 72
    assert Mixture.named("late-144") == Mixture(new=71, corrected=71, scattered=2)


def test_a_record_has_the_key_of_the_table() -> None:
    (row,) = Batches(ONE, "newest-144").batch(0)[:1]
    (record,) = records([row])
    assert json.loads(record.key) == {"latitude": row.latitude, "longitude": row.longitude, "time": row.time}
    assert json.loads(record.value)["temperature_2m"] == row.temperature_2m


@pytest.mark.parametrize("name", ["newest-144", "late-144", "random-144"])
def test_every_row_is_inside_of_its_batchs_bounds(name: BatchName) -> None:
    rows = Batches(HUNDRED, name).batch(2)
    bound = bound_of(rows)
    assert len(bound.spans) <= SPANS
    assert all(row.month in bound.months and bound.meets(row.time, row.time) for row in rows)
    assert not bound.meets("2030-01-01T00:00", "2031-01-01T00:00")
    assert len(exact_bound_of(rows).spans) == len({row.time for row in rows})


def test_neighbouring_hours_are_one_span_and_the_widest_gaps_divide() -> None:
    chance = random.Random(1)
    batches = Batches(ONE, "newest-144")
    assert bound_of(batches.batch(3)).spans == [("2023-01-02T00:00", "2023-01-02T23:00")]
    spans = bound_of(Batches(ONE, "random-144").batch(chance.randrange(100))).spans
    assert len(spans) == SPANS
    assert all(first <= last for first, last in spans)


def commit(table: Path, version: int, *actions: dict[str, object]) -> None:
    log = table / "_delta_log"
    log.mkdir(exist_ok=True)
    (log / f"{version:020d}.json").write_text("".join(f"{json.dumps(action)}\n" for action in actions))


def add(path: str, size: int, month: str | None, times: tuple[str, str] | None) -> dict[str, object]:
    known = {} if times is None else {"minValues": {"time": times[0]}, "maxValues": {"time": times[1]}}
    partition = {} if month is None else {"month": month}
    return {"add": {"path": path, "size": size, "partitionValues": partition, "stats": json.dumps(known)}}


def test_candidates_are_what_the_log_cannot_exclude(tmp_path: Path) -> None:
    bound = bound_of(Batches(ONE, "newest-144").batch(3))
    commit(
        tmp_path,
        0,
        {"metaData": {}},
        add("other-month", 1, "2022-12", None),
        add("other-day", 2, "2023-01", ("2023-01-03T00:00", "2023-01-04T00:00")),
        add("that-day", 4, "2023-01", ("2023-01-01T00:00", "2023-01-02T00:00")),
        add("says-nothing", 8, "2023-01", None),
    )
    files = DeltaFiles(tmp_path)
    assert files.reach(bound) == Reach(files=4, candidates=2, candidate_bytes=12)
    assert files.reach(None) == Reach(files=4, candidates=4, candidate_bytes=15)


def test_a_rewrite_is_what_was_written_and_what_it_replaced(tmp_path: Path) -> None:
    commit(tmp_path, 0, add("a", 10, None, None), add("b", 20, None, None))
    files = DeltaFiles(tmp_path)
    vector = add("b", 20, None, None)
    vector["add"] = {**vector["add"], "deletionVector": {"sizeInBytes": 3}}  # type: ignore[dict-item]
    commit(tmp_path, 1, {"remove": {"path": "a"}}, {"remove": {"path": "b"}}, vector, add("c", 5, None, None))
    assert files.advance() == Rewrite(added=8, removed=30)
    assert files.reach(None) == Reach(files=2, candidates=2, candidate_bytes=25)
    assert files.advance() == Rewrite(added=0, removed=0)


def test_every_cell_names_contenders_that_exist() -> None:
    assert set(MAKERS) == {*ALL, FEED}
    names = [cell.name for cell in full_cells()]
    assert len(names) == len(set(names))
    assert {name for cell in full_cells() for name in cell.contenders} == set(ALL)
    assert [cell.name for cell in selected(quick_cells(), ["10x"], ["append"])] == ["10x-years-partitioned/newest-144"]


def entry(contender: str, seconds: float, candidates: int = 2) -> Entry:
    runs = [
        Run(
            round=number,
            seconds=seconds + number / 1000,
            wall=seconds,
            stages={"merge": seconds / 2} if contender.startswith("ours") else {},
            files=50,
            candidates=candidates,
            candidate_bytes=1000,
            holding=2,
            bytes_added=500,
            bytes_removed=400,
            heap=None if contender.startswith("delta-rs") else 10**8,
        )
        for number in range(15)
    ]
    return Entry(contender=contender, runs=runs)


def measured(base: Base, batch: str, **seconds: float) -> CellResult:
    entries = {name.replace("_", "-"): entry(name.replace("_", "-"), each) for name, each in seconds.items()}
    return CellResult(name=f"{base.name}/{batch}", **vars(base), batch=batch, rows=144, entries=entries)


@pytest.fixture
def result() -> Result:
    cells = [
        measured(ONE, "newest-144", ours_batch=1.0, tuned=1.5, iceberg_cow=0.9, append=0.4),
        measured(HUNDRED, "newest-144", ours_batch=1.1, tuned=4.0, iceberg_cow=2.0, delta_rs=3.0, append=0.4),
    ]
    growth = [
        measured(ONE, "newest-144", ours_batch=1.0, ours_batch_feed=1.2, append=0.4),
        measured(HUNDRED, "newest-144", ours_batch=1.1, ours_batch_feed=1.6, append=0.4),
    ]
    machine = Machine(cores=2, memory_gib=8, system="Linux x86_64")
    return Result(
        quick=False,
        seed=1,
        rounds=15,
        engine="abc",
        machine=machine,
        versions={"Spark": "4"},
        cells={cell.name: cell for cell in cells},
        growth={cell.name: cell for cell in growth},
        catch_up=CatchUp(events=10, updates=5, ours=[2.0], append=[1.5], stages={"read": 1.0}),
        memory=Memory(base="1x", rows=2000, heap_bytes=2**30, exit_code=0, said="", seconds=20),
    )


def verdicts(result: Result) -> dict[str, str]:
    return {target.what: target.verdict for target in targets(result)}


def test_each_promise_is_met_or_missed_by_its_figure(result: Result) -> None:
    found = verdicts(result)
    assert found["ours-batch, newest hours: candidate files at 100x-locations of those at 1x"] == "met"
    assert found["ours-batch, newest hours: time at 100x-locations of that at 1x, upper end"] == "met"
    assert found["ours-batch, newest-144 at 1x: time with a change feed of that without it"] == "met"
    assert found["ours-batch, newest-144 at 100x-locations: time with a change feed of that without it"] == "MISSED"
    assert found["ours-batch, newest-144 at 1000x-locations: time with a change feed of that without it"] == (
        "not measured"
    )
    assert found["ours-batch, newest hours at 100x-locations: times faster than tuned"] == "met"
    assert found["ours-batch, newest hours at 1x: times faster than every iceberg"] == "MISSED"
    assert found["ours-batch, newest-144 at 1x: time of that of a plain append, through MERGE or rewrite"] == "met"
    assert found["catch-up: events a second, of the rate of decoding and plainly appending"] == "met"
    assert found["ours-stream, newest hours at 1x: times faster than every iceberg"] == "not measured"


def test_growth_is_that_of_the_rounds_whatever_the_machine_does_meanwhile(result: Result) -> None:
    """From the eighth round on everything takes three times as long; the sizes have played in turn."""
    for cell in result.growth.values():
        for run in cell.entries["ours-batch"].runs[7:]:
            run.seconds *= 3
    what = "ours-batch, newest hours: time at 100x-locations of that at 1x, upper end"
    (found,) = [target for target in targets(result) if target.what == what]
    assert found.value == pytest.approx(1.1, abs=0.01)


def test_a_run_of_the_growths_alone_promises_nothing_else(result: Result, tmp_path: Path) -> None:
    alone = result.model_copy(update={"cells": {}, "catch_up": None, "memory": None})
    write_report(tmp_path, alone)
    page = (tmp_path / "README.md").read_text()
    assert "Written by `make bench-growth`" in page
    assert "time with a change feed of that without it" in page
    assert "times faster" not in page
    assert "### 100x-locations-partitioned/newest-144, 144 rows a batch" in page


def test_a_contender_plays_one_size_right_after_the_other() -> None:
    standing = [["ours-batch", "append", "tuned"], ["ours-batch", "append"], ["ours-batch", "append"]]
    order = list(in_turn(random.Random(1), standing))
    assert sorted(order) == sorted((name, at) for at, names in enumerate(standing) for name in names)
    names = [name for name, _ in order]
    assert all(
        names[first : first + names.count(name)] == [name] * names.count(name)
        for name, first in ((name, names.index(name)) for name in set(names))
    )
    assert list(in_turn(random.Random(2), standing)) != order


def test_the_growths_are_of_every_size_that_a_promise_names(result: Result) -> None:
    full = list(full_growths())
    for growth in full:
        assert [base.size for base in growth.bases] == ["1x", *LARGE]
        assert set(growth.contenders) <= set(MAKERS)
    assert [each.contenders for each in selected_growths(full_growths(), ["growth/late"], ["append"])] == [["append"]]
    assert not is_measured(full[0], result)
    assert is_measured(replace(full[0], bases=[ONE, HUNDRED]), result)


def test_what_decides_the_bytes_of_a_base_table_is_there() -> None:
    assert len(makers()) == 64


def test_a_contender_with_a_wrong_table_is_not_ranked(result: Result) -> None:
    result.cells[f"{ONE.name}/newest-144"].entries["ours-batch"].wrong = "wrong: 1 row instead of 2"
    assert verdicts(result)["ours-batch, newest hours at 1x: times faster than every iceberg"] == "not measured"


def test_the_page_has_every_contender_and_every_target(result: Result, tmp_path: Path) -> None:
    result.cells[f"{ONE.name}/newest-144"].entries["tuned"].wrong = "wrong: 1 row instead of 2"
    write_report(tmp_path, result)
    page = (tmp_path / "README.md").read_text()
    assert all(target.what in page for target in targets(result))
    assert "| tuned | 1.51 (1.50 – 1.51) |" in page
    assert "wrong: 1 row instead of 2" in page
    assert {path.name for path in tmp_path.glob("*.png")} == {
        f"{name}.png" for name in ("seconds", "rate", "candidates", "rewritten", "heap")
    }
    assert Result.model_validate_json((tmp_path / "result.json").read_text()) == result


def test_only_a_result_of_the_same_sources_is_gone_on_with(result: Result, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    kept = Kept(path, result, anew=False)
    kept.keep()
    same = result.model_copy(update={"cells": {}, "java": "17"})
    assert Kept(path, same, anew=False).result.cells == result.cells
    assert Kept(path, same, anew=True).result.cells == {}
    assert Kept(path, same.model_copy(update={"engine": "other"}), anew=False).result.cells == {}


def test_who_is_slow_plays_each_third_round_and_is_compared_in_those() -> None:
    cell = Cell(HUNDRED, "newest-144", ["ours-batch", "tuned", "stock"])
    assert [cell.turn_of(name) for name in cell.contenders] == [1, 1, 3]
    ours, slow = entry("ours-batch", 1.0), entry("stock", 30.0)
    slow.runs = [run for run in slow.runs if run.round % 3 == 2]
    above, below = slow.beside(ours)
    assert above == slow.seconds
    assert below == [ours.seconds[number] for number in (2, 5, 8, 11, 14)]
    assert against_ours(measured(HUNDRED, "newest-144", ours_batch=1.0), slow).startswith(f"{30.008 / 1.008:.2f} ")
