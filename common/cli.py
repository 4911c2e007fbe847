"""The edge of every job: logs, exit codes, and foreign errors turned into one line."""

import functools
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec

import structlog

from common.errors import AlluviumError
from common.logs import configure_logs, log_file
from common.settings.environment import launched_by_spark_submit

P = ParamSpec("P")
log = structlog.get_logger()


def job(name: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Run a job so that each failure is one line on stderr, its trace in the log, its exit code the error's own."""

    def decorate(function: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            separate_stderr()
            configure_logs(name)
            sys.excepthook = functools.partial(report_unexpected, name)
            try:
                function(*args, **kwargs)
            except AlluviumError as error:
                log.debug("failed", exc_info=True)
                print(f"error: {error}", file=sys.stderr)
                sys.exit(error.exit_code)

        return run

    return decorate


def separate_stderr() -> None:
    """spark-submit merges a Python job's stderr into stdout (PythonRunner); write to its own stderr instead.

    Where that is not a thing to open, a socket for example, the merged stream is still better than none.
    """
    if not launched_by_spark_submit():
        return
    try:
        own = os.open(f"/proc/{os.getppid()}/fd/2", os.O_WRONLY | os.O_APPEND)
    except OSError:
        return
    os.dup2(own, sys.stderr.fileno())
    os.close(own)


def report_unexpected(name: str, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What nobody foresaw: still one line, with the way to the trace; Python then exits with 1."""
    if issubclass(kind, KeyboardInterrupt):
        print("stopped", file=sys.stderr)
        return
    log.error("unexpected", exc_info=(kind, error, trace))
    first_line = next(iter(str(error).strip().splitlines()), kind.__name__)
    print(f"error: {kind.__name__}: {first_line[:300]}; the whole story is in {log_file(name)}", file=sys.stderr)
