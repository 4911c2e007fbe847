"""The counting of a walk, and its tracer on a folder of two small files."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.walk.steps import (
    Hops,
    Step,
    calls,
    count_hops,
    in_order,
    openings,
    step_lines,
    steps_of,
    with_ways_back,
)
from tests.walk.tracer import Tracer, traced


@pytest.mark.parametrize(
    ("moves", "counted"),
    [
        ("", Hops(files=0, hops=0, returns=0)),
        ("aa", Hops(files=1, hops=0, returns=0)),
        ("aa ab bb bc", Hops(files=3, hops=2, returns=0)),
        ("ab ac ad", Hops(files=4, hops=3, returns=0)),
        ("ab ba", Hops(files=2, hops=2, returns=1)),
        ("ab ac bc ab aa cd", Hops(files=4, hops=5, returns=2)),
    ],
)
def test_a_hop_changes_the_file_and_a_return_is_a_hop_into_one_that_was_seen(moves: str, counted: Hops) -> None:
    assert count_hops([(move[0], move[1]) for move in moves.split()]) == counted


def step(file: str, depth: int, caller: str, function: str = "function") -> Step:
    return Step(file, function, "", depth, caller)


def test_the_callers_file_and_that_of_the_last_step_are_open() -> None:
    callers_and_files = ("aa", "ab", "ab", "ac", "aa", "ab")
    steps = [step(file, 1, caller) for caller, file in map(tuple, callers_and_files)]
    assert count_hops(openings(steps)) == Hops(files=3, hops=3, returns=1)
    assert count_hops(calls(steps)) == Hops(files=3, hops=4, returns=2)
    assert count_hops(in_order(steps)) == Hops(files=3, hops=4, returns=2)
    assert count_hops(with_ways_back(steps)) == Hops(files=3, hops=7, returns=5)


def test_a_step_is_the_first_call_of_a_function_in_its_batch() -> None:
    tail = [step("a", 2, "a", "end"), step("b", 1, "a", "of the batch before")]
    batch = [step("a", 0, "a", "settle"), step("b", 1, "a", "plan"), step("a", 2, "b", "end")]
    again = [step("b", 2, "b", "plan"), step("b", 1, "b", "settle")]
    assert steps_of([*tail, *batch, *again]) == [*batch, again[-1]]
    assert steps_of([]) == []


def test_a_line_shows_depth_hop_and_return() -> None:
    steps = [step("a", 3, "a"), step("b", 4, "a"), step("b", 5, "b"), Step("a", "end", "Says it.", 4, "b")]
    assert list(step_lines(steps)) == ["  a  function", "→   b  function", "      b  function", "↩   a  end  Says it."]


FIRST = '''
from concurrent.futures import ThreadPoolExecutor

def mark(name): ...

def batch(second):
    """Settle one batch.

    More of it is no part of the line."""
    def number(each):
        return each

    second.helper([3, 1], number)
    second.helper([], number)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(in_pool, [1, 2]))
    mark("other")
    mark("last")

def in_pool(number): ...
'''
SECOND = """
def decorated(function):
    return function

@decorated
def helper(numbers, own):
    '''Help.'''
    return sorted(numbers, key=lambda each: -own(each)), [each for each in numbers]
"""


def test_calls_are_noted_with_their_depth_and_their_callers_file(tmp_path: Path) -> None:
    first, second = (module(tmp_path / name, text) for name, text in (("first.py", FIRST), ("second.py", SECOND)))
    tracer = Tracer(tmp_path, first.mark, "last", frozenset())
    with traced(tracer):
        first.batch(second)
        first.batch(second)
    batch = Step("first.py", "batch", "Settle one batch.", 0, "first.py")
    helper = Step("second.py", "helper", "Help.", 1, "first.py")
    number = Step("first.py", "batch.number", "", 2, "second.py")
    in_pool = Step("first.py", "in_pool", "", 1, "first.py")
    assert tracer.batches == [[batch, helper, number, number, helper, in_pool, in_pool]] * 2


def test_what_is_called_from_a_file_that_is_left_out_is_no_step(tmp_path: Path) -> None:
    first, second = (module(tmp_path / name, text) for name, text in (("first.py", FIRST), ("second.py", SECOND)))
    for left_out, functions in (("first.py", []), ("second.py", ["batch", "in_pool", "in_pool"])):
        tracer = Tracer(tmp_path, first.mark, "last", frozenset({left_out}))
        with traced(tracer):
            first.batch(second)
        assert [[call.function for call in batch] for batch in tracer.batches] == [functions]


def module(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
