"""The counting of a walk, and its tracer on a folder of two small files."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from tests.walk.steps import Hops, Step, count_hops, files_entered, files_read, step_lines
from tests.walk.tracer import Tracer, traced


@pytest.mark.parametrize(
    ("files", "counted"),
    [
        ("", Hops(files=0, hops=0, returns=0)),
        ("a", Hops(files=1, hops=0, returns=0)),
        ("aaa", Hops(files=1, hops=0, returns=0)),
        ("aabbc", Hops(files=3, hops=2, returns=0)),
        ("aba", Hops(files=2, hops=2, returns=1)),
        ("abbaacab", Hops(files=3, hops=5, returns=3)),
    ],
)
def test_a_hop_changes_the_file_and_a_return_is_a_hop_into_one_that_was_left(files: str, counted: Hops) -> None:
    assert count_hops(files) == counted


def step(file: str, depth: int, caller: str | None) -> Step:
    return Step(file, "function", "", depth, caller)


def test_whoever_goes_back_to_the_caller_hops_more() -> None:
    steps = [step("a", 0, None), step("b", 1, "a"), step("c", 1, "a"), step("c", 2, "c")]
    assert count_hops(files_entered(steps)) == Hops(files=3, hops=2, returns=0)
    assert count_hops(files_read(steps)) == Hops(files=3, hops=3, returns=1)


def test_a_line_shows_depth_hop_and_return() -> None:
    steps = [step("a", 3, None), step("b", 4, "a"), step("b", 5, "b"), Step("a", "end", "Says it.", 3, None)]
    assert list(step_lines(steps)) == ["→ a  function", "→   b  function", "      b  function", "↩ a  end  Says it."]


FIRST = '''
from concurrent.futures import ThreadPoolExecutor

def mark(name): ...

def batch(second):
    """Settle one batch.

    More of it is no part of the line."""
    second.helper([3, 1])
    second.helper([])
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
def helper(numbers):
    '''Help.'''
    return sorted(numbers, key=lambda number: -number), [each for each in numbers]
"""


def test_each_function_is_one_step_of_a_batch_however_often_it_is_called(tmp_path: Path) -> None:
    first, second = (module(tmp_path / name, text) for name, text in (("first.py", FIRST), ("second.py", SECOND)))
    tracer = Tracer(tmp_path, first.mark, "last", frozenset())
    with traced(tracer):
        first.batch(second)
        first.batch(second)
    batch = Step("first.py", "batch", "Settle one batch.", 0, None)
    helper = Step("second.py", "helper", "Help.", 1, "first.py")
    in_pool = Step("first.py", "in_pool", "", 1, "first.py")
    assert tracer.batches == [[batch, helper, in_pool]] * 2


def test_files_that_are_left_out_are_no_steps(tmp_path: Path) -> None:
    first, second = (module(tmp_path / name, text) for name, text in (("first.py", FIRST), ("second.py", SECOND)))
    tracer = Tracer(tmp_path, first.mark, "last", frozenset({"first.py"}))
    with traced(tracer):
        first.batch(second)
    assert tracer.batches == [[Step("second.py", "helper", "Help.", 0, None)]]


def module(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
