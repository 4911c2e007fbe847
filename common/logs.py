"""Write logs to stderr for people (as JSON without a terminal), and in full, with stack traces, to a file."""

import fcntl
import logging
import os
import sys
from contextlib import suppress
from itertools import pairwise
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any

import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, Processor, WrappedLogger

from common.errors import ConfigurationError
from common.settings.environment import log_dir, run_id
from common.settings.privacy import FOLDER_MODE, open_private

# The size of a file, and how many older files are kept.
MAX_BYTES = 10 * 2**20
OLDER_FILES = 5


def log_file(job: str) -> Path:
    return log_dir() / f"{job}.log"


def configure_logs(job: str) -> None:
    """Send structlog and the standard library's loggers to stderr and to the job's own file."""
    path = log_file(job)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        to_file = RotatedFile(path)
    except OSError as error:
        raise ConfigurationError(f"cannot write the log {path} ({error.strerror})", "set ALLUVIUM_LOG_DIR") from error
    shared: list[Processor] = [
        named(job=job, run_id=run_id()),
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    to_people: Processor = (
        structlog.dev.ConsoleRenderer() if sys.stderr.isatty() else structlog.processors.JSONRenderer()
    )
    # Without local variables, because some of them are secrets.
    traces = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    handlers = [
        for_people(handler(logging.StreamHandler(sys.stderr), shared, [without_trace, to_people])),
        handler(
            to_file,
            shared,
            [traces, structlog.processors.JSONRenderer()],
        ),
    ]
    logging.basicConfig(level=logging.INFO, handlers=handlers, force=True)
    for chatty in ("py4j", "pyspark", "httpx2"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


class RotatedFile(WatchedFileHandler):
    """A log that several processes append to, in files of bounded size.

    The process that finds it full renames it, under a lock on that file. The others notice before their next line that
    the name belongs to another file, and open that one. A line that is written meanwhile is in the older file.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, older_files: int = OLDER_FILES) -> None:
        self._max_bytes, self._older_files = max_bytes, older_files
        super().__init__(path)

    def _open(self) -> Any:
        return open_private(self.baseFilename, "a")

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        # A log that cannot be renamed is better than none.
        with suppress(OSError):
            if self.stream is not None and self._is_full(self.stream.fileno()):
                self._rotate(self.stream.fileno())

    def _is_full(self, descriptor: int) -> bool:
        """True where the file has its full size and no other process has renamed it meanwhile."""
        ours = os.fstat(descriptor)
        return ours.st_size >= self._max_bytes and os.path.samestat(ours, Path(self.baseFilename).stat())

    def _rotate(self, descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if self._is_full(descriptor):
            path = Path(self.baseFilename)
            files = [path, *(path.with_name(f"{path.name}.{n}") for n in range(1, self._older_files + 1))]
            for newer, older in reversed(list(pairwise(files))):
                with suppress(FileNotFoundError):
                    newer.replace(older)
        # This closes the file and so releases the lock.
        self.reopenIfNeeded()


def named(**names: str) -> Processor:
    """Add these fields to every line of every thread. Spark calls foreachBatch in a thread without our context."""

    def add_names(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
        event.update(names)
        return event

    return add_names


def handler(target: logging.Handler, shared: list[Processor], rendering: list[Processor]) -> logging.Handler:
    target.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    return target


def for_people(target: logging.Handler) -> logging.Handler:
    """Leave out what is meant for the file only, because the command itself prints it in one line."""
    target.addFilter(lambda record: not (isinstance(record.msg, dict) and record.msg.get("file_only")))
    # py4j reports an error of a callback with its trace, before the command prints it in one line.
    target.addFilter(lambda record: not record.name.startswith("py4j"))
    return target


def without_trace(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Drop the trace, which is in the file: people get the one line that names the problem."""
    event.pop("exc_info", None)
    return event
