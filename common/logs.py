"""Logs: on stderr for people (JSON where no terminal is), and whole, stack traces included, in a file."""

import logging
import sys
from pathlib import Path

import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict, Processor, WrappedLogger

from common.errors import ConfigurationError
from common.settings.environment import log_dir, run_id


def log_file(job: str) -> Path:
    return log_dir() / f"{job}.log"


def configure_logs(job: str) -> None:
    """Send structlog and the standard library's loggers to stderr and to the job's own file."""
    path = log_file(job)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
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
    # Without local variables: some of them are secrets.
    traces = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
    handlers = [
        for_people(handler(logging.StreamHandler(sys.stderr), shared, [without_trace, to_people])),
        handler(
            logging.FileHandler(path),
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


def named(**names: str) -> Processor:
    """On every line, in whatever thread: Spark calls foreachBatch in one of its own, which knows no context of ours."""

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
    """Leaves out what is meant for the file: the command itself says it in one line."""
    target.addFilter(lambda record: not (isinstance(record.msg, dict) and record.msg.get("file_only")))
    # What a callback raised, py4j reports with its trace before the command gets to say it in one line.
    target.addFilter(lambda record: not record.name.startswith("py4j"))
    return target


def without_trace(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """A person gets the one line that names the thing; the trace is in the file."""
    event.pop("exc_info", None)
    return event
