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

# A function is known by its file, its first line and its name. Code objects of two files can be equal.
Function = tuple[str, int, str]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Tracer:
    """List the steps of each batch: the functions of one folder, each at its first call.

    A batch ends where `mark` is called with the name of `last`.
    """

    def __init__(self, folder: Path, mark: Callable[[str], None], last: str, left_out: frozenset[str]) -> None:
        self.batches: list[list[Step]] = []
        self._folder, self._mark, self._last, self._left_out = f"{folder}/", mark.__code__, last, left_out
        self._batch: dict[Function, Step] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Note a call. Python calls this for every call and every return in a thread."""
        if event != "call":
            return
        code = frame.f_code
        if code is self._mark:
            if self._last in frame.f_locals.values():
                self.batches.append(list(self._batch.values()))
                self._batch = {}
            return
        function = (code.co_filename, code.co_firstlineno, code.co_qualname)
        if function not in self._batch and self._is_ours(code):
            self._batch[function] = self._step(frame)

    def _is_ours(self, code: CodeType) -> bool:
        """Leave out other folders, and code without a name of its own: it is read where it stands."""
        return (
            code.co_filename.startswith(self._folder)
            and not code.co_name.startswith("<")
            and self._file(code) not in self._left_out
        )

    def _step(self, frame: FrameType) -> Step:
        callers = list(self._callers(frame))
        code = frame.f_code
        return Step(
            file=self._file(code),
            function=code.co_qualname.replace(".<locals>", ""),
            says=docstrings(Path(code.co_filename)).get(code.co_firstlineno, ""),
            depth=len(callers),
            caller=callers[0] if callers else None,
        )

    def _callers(self, frame: FrameType) -> Iterator[str]:
        """List the files of the calls that are under way, the nearest first."""
        above = frame.f_back
        while above is not None:
            if self._is_ours(above.f_code):
                yield self._file(above.f_code)
            above = above.f_back

    def _file(self, code: CodeType) -> str:
        return code.co_filename.removeprefix(self._folder)


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
