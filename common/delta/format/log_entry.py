"""Parse one entry of a table's log from the text of its file. It does not know how the file is read."""

import json
from dataclasses import dataclass
from typing import Any

REPLACING = ("RESTORE", "REPLACE TABLE", "CREATE OR REPLACE TABLE", "CLONE", "TRUNCATE")
# Statements about single rows: their author has decided about each row, and the pipeline goes on. Every other operation
# that removes data replaces the table's content, whatever its name is and whoever wrote it.
ROW_BY_ROW = ("DELETE", "UPDATE", "MERGE")


@dataclass(frozen=True)
class Commit:
    """One version of the table, without its list of files."""

    version: int
    info: dict[str, Any]
    transactions: dict[str, int]
    # True where it removes files, but not to rewrite the same rows.
    removes_data: bool = False

    @property
    def operation(self) -> str:
        return str(self.info.get("operation", ""))

    @property
    def replaces_content(self) -> bool:
        """True where rows of a transaction may be missing now, although the transaction is still recorded."""
        overwrites = self._parameters.get("mode") == "Overwrite" or self._parameters.get("outputMode") == "Complete"
        takes_away = self.removes_data and self.operation not in ROW_BY_ROW
        return overwrites or takes_away or self.operation.startswith(REPLACING)

    @property
    def restored_version(self) -> int | None:
        """The version that a RESTORE went back to; None for every other commit."""
        version = self._parameters.get("version")
        return int(version) if self.operation == "RESTORE" and version is not None else None

    @property
    def _parameters(self) -> dict[str, Any]:
        return self.info.get("operationParameters") or {}


def parse_commit(version: int, text: str) -> Commit:
    info: dict[str, Any] = {}
    transactions: dict[str, int] = {}
    removes_data = False
    for line in text.split("\n"):
        if line.startswith('{"commitInfo"'):
            info = json.loads(line)["commitInfo"]
        elif line.startswith('{"txn"'):
            txn = json.loads(line)["txn"]
            transactions[txn["appId"]] = txn["version"]
        elif not removes_data and line.startswith('{"remove"'):
            removes_data = json.loads(line)["remove"]["dataChange"]
    return Commit(version, info, transactions, removes_data)
