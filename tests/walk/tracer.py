"""Record of the functions that a batch enters, by Python's own profiling hook."""

import ast
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

from tests.walk.steps import Step

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Tracer:
    """List the calls of each batch to functions of one folder, without what files that are left out call in turn.

    A batch ends where `mark` is called with the name `last`.
    """

    def __init__(self, folder: Path, mark: Callable[[str], None], last: str, left_out: frozenset[str]) -> None:
        self.batches: list[list[Step]] = []
        self._folder, self._mark, self._last, self._left_out = f"{folder}/", mark.__code__, last, left_out
        self._batch: list[Step] = []

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call. Python calls this for every call and every return in a thread."""
        if event != "call":
            return
        code = frame.f_code
        if code is self._mark:
            if self._last in frame.f_locals.values():
                self.batches.append(self._batch)
                self._batch = []
        elif self._is_ours(code) and is_named(code):
            self._note(frame)

    def _note(self, frame: FrameType) -> None:
        above = [each.f_code for each in frames_above(frame) if self._is_ours(each.f_code)]
        file = self._file(frame.f_code)
        callers = [self._file(code) for code in above]
        if self._left_out.isdisjoint([file, *callers]):
            self._batch.append(
                Step(
                    file=file,
                    function=frame.f_code.co_qualname.replace(".<locals>", ""),
                    says=docstrings(Path(frame.f_code.co_filename)).get(frame.f_code.co_firstlineno, ""),
                    depth=sum(map(is_named, above)),
                    caller=callers[0] if callers else file,
                )
            )

    def _is_ours(self, code: CodeType) -> bool:
        return code.co_filename.startswith(self._folder)

    def _file(self, code: CodeType) -> str:
        return code.co_filename.removeprefix(self._folder)


def is_named(code: CodeType) -> bool:
    """Tell a function from a lambda or a comprehension, which is read where it stands."""
    return not code.co_name.startswith("<")


def frames_above(frame: FrameType) -> Iterator[FrameType]:
    """List the calls that are under way, the nearest first."""
    above = frame.f_back
    while above is not None:
        yield above
        above = above.f_back


@cache
def docstrings(path: Path) -> dict[int, str]:
    """Read the first line of each function's docstring, by the first line of the function."""
    functions = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, FUNCTIONS)]
    return {
        min([node.lineno, *(each.lineno for each in node.decorator_list)]): text.splitlines()[0]
        for node in functions
        if (text := ast.get_docstring(node))
    }


@contextmanager
def traced(tracer: Tracer) -> Iterator[None]:
    """Trace this thread and those that it starts. Pools work in their caller's thread, so that the order is always the
    same."""
    with patch.object(ThreadPoolExecutor, "submit", submit_at_once):
        threading.setprofile(tracer)
        sys.setprofile(tracer)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


def submit_at_once(_: ThreadPoolExecutor, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
    """Do the work before the call returns."""
    future: Future[Any] = Future()
    try:
        future.set_result(work(*given, **named))
    except Exception as error:  # noqa: BLE001 (whoever asks for the result gets it)
        future.set_exception(error)
    return future
