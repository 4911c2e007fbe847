"""The edge of every job: logs, exit codes, and every failure turned into one line."""

import functools
import os
import sys
from collections.abc import Callable
from types import TracebackType

import click
import structlog

from common import stop
from common.errors import AlluviumError, first_line, shortened
from common.logs import configure_logs, log_file
from common.settings.environment import launched_by_spark_submit
from common.settings.remedies import forget, tell
from common.signals import handle_signals

log = structlog.get_logger()
# How many characters of an unforeseen error are printed.
LONGEST_MESSAGE = 300


def job(name: str) -> Callable[[click.Command], Callable[[], None]]:
    """Run a command so that each failure is one line on stderr, its trace in the log, its exit code the error's own."""

    def decorate(command: click.Command) -> Callable[[], None]:
        @functools.wraps(command)
        def run() -> None:
            separate_stderr()
            sys.excepthook = functools.partial(report_unexpected, name)
            try:
                configure_logs(name)
                handle_signals()
                invoke(command, name, sys.argv[1:])
            except AlluviumError as error:
                log.info("failed", exc_info=True, file_only=True)
                fail(str(error), error.exit_code)
            except click.ClickException as error:
                fail(f"{error.format_message().rstrip('.')}; see --help", error.exit_code)
            except stop.Stopped as stopped:
                end(stopped)
            except BaseException:
                if not stop.is_cancelling():
                    raise
                # The failure comes from the cancelling of Spark's jobs.
                end(stop.stopped())

        return run

    return decorate


def end(stopped: stop.Stopped) -> None:
    log.info("stopped", by=stopped.by.name, exc_info=True, file_only=True)
    print(stopped, file=sys.stderr)
    sys.exit(stopped.exit_code)


def invoke(command: click.Command, name: str, arguments: list[str]) -> None:
    """Run the command with these arguments; its remedies repeat them."""
    forget()
    tell(COMMAND=(f"submit/{name}.sh", *arguments))
    command.main(arguments, prog_name=name, standalone_mode=False)


def fail(line: str, code: int) -> None:
    print(f"error: {line}", file=sys.stderr)
    sys.exit(code)


def separate_stderr() -> None:
    """Write to the stderr of spark-submit itself, because it merges a Python job's stderr into stdout (PythonRunner).

    Where that stderr cannot be opened, because it is a socket for example, the merged stream is better than none.
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
    """Report an unforeseen error in one line that names the log with its trace. Python then exits with 1."""
    log.error("unexpected", exc_info=(kind, error, trace), file_only=True)
    message = shortened(first_line(error), LONGEST_MESSAGE)
    print(f"error: {kind.__name__}: {message}; the whole story is in {log_file(name)}", file=sys.stderr)
