"""Tell a full file system from every other failure of a write."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.captured import CapturedException

from common.errors import OutOfSpace
from common.settings.locations import Location

SAID = ("No space left on device", "Disk quota exceeded")


@contextmanager
def space_needed(table: Location) -> Iterator[None]:
    """Raise OutOfSpace where a file system is full: Spark says so only among the causes of its own error."""
    try:
        yield
    except (PySparkException, Py4JError, OSError) as error:
        if not any(said in whole_story(error) for said in SAID):
            raise
        raise OutOfSpace(
            f"no space left while writing {table}{left(table)}",
            "free some there, or where Spark keeps its scratch files, then start again: the job goes on from the table",
        ) from error


def whole_story(error: Exception) -> str:
    return f"{error}\n{error._stackTrace}" if isinstance(error, CapturedException) else str(error)


def left(table: Location) -> str:
    if table.local is None:
        return ""
    return f" ({shutil.disk_usage(table.local).free // 1024} KB are free on its file system)"
