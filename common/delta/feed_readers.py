"""The readers of a table's change feed, and how far each has read, in TABLE/_alluvium/readers/NAME.json.

VACUUM checks them before it deletes old files. A reader writes its version only after it has stored its own results.
"""

import json
import re
from dataclasses import dataclass

from pyspark.sql import SparkSession

from common.delta.small_files import Files
from common.errors import StateError, UsageError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
FORMAT = 1


@dataclass(frozen=True)
class Reader:
    """A reader that has read every version up to this one, and none after it."""

    name: str
    version: int


class Readers:
    """The registered readers of one table."""

    def __init__(self, spark: SparkSession, table: str) -> None:
        self.folder = f"{table}/_alluvium/readers"
        self._files = Files(spark, self.folder)

    def write(self, reader: Reader) -> None:
        """Register a reader, or update the version that it has read."""
        if NAME.fullmatch(reader.name) is None:
            raise UsageError(f"'{reader.name}' is no name of a reader", "use letters, digits, - and _")
        self._files.write(f"{reader.name}.json", json.dumps({"alluvium_reader": FORMAT, "version": reader.version}))

    def remove(self, name: str) -> None:
        self._files.delete(f"{name}.json")

    def read(self) -> list[Reader]:
        """Read every reader, also one whose file is being replaced: the new file is whole before the old one goes."""
        texts: dict[str, str | None] = {}
        for file in self._files.names():
            if file.endswith(".json.partial"):
                texts.setdefault(file.removeprefix(".").removesuffix(".json.partial"), None)
            elif file.endswith(".json"):
                texts[file.removesuffix(".json")] = self._files.read(file)
        return [self._parsed(name, text or self._late(name)) for name, text in sorted(texts.items())]

    def _late(self, name: str) -> str:
        """Read the file of a reader that was being replaced when the folder was listed."""
        return self._files.read(f"{name}.json") or self._files.read(f".{name}.json.partial") or ""

    def _parsed(self, name: str, text: str) -> Reader:
        try:
            content = json.loads(text)
            if content["alluvium_reader"] == FORMAT:
                return Reader(name, int(content["version"]))
        except (ValueError, TypeError, KeyError):
            pass
        raise StateError(
            f"how far reader '{name}' is cannot be read from {self.folder}/{name}.json",
            "start the reader once more, or delete the file if it is gone for good",
        )
