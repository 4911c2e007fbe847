"""One entry of a table's log, as its file says it. Pure: how the file is got is not known here."""

import json
from dataclasses import dataclass
from typing import Any

REPLACING = ("RESTORE", "REPLACE TABLE", "CREATE OR REPLACE TABLE", "CLONE")


@dataclass(frozen=True)
class Commit:
    """One version of the table, without its list of files."""

    version: int
    info: dict[str, Any]
    transactions: dict[str, int]

    @property
    def operation(self) -> str:
        return str(self.info.get("operation", ""))

    @property
    def replaces_content(self) -> bool:
        """Rows that a transaction put there may be gone, although the transaction is still recorded."""
        overwrites = self.info.get("operationParameters", {}).get("mode") == "Overwrite"
        return overwrites or self.operation.startswith(REPLACING)

    @property
    def restored_version(self) -> int | None:
        """Where a RESTORE by version went back to."""
        version = self.info.get("operationParameters", {}).get("version")
        return int(version) if self.operation == "RESTORE" and version is not None else None


def parse_commit(version: int, text: str) -> Commit:
    info: dict[str, Any] = {}
    transactions: dict[str, int] = {}
    for line in text.split("\n"):
        if line.startswith('{"commitInfo"'):
            info = json.loads(line)["commitInfo"]
        elif line.startswith('{"txn"'):
            txn = json.loads(line)["txn"]
            transactions[txn["appId"]] = txn["version"]
    return Commit(version, info, transactions)
