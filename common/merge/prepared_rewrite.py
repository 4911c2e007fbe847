"""New files in place of the candidates, in a commit of our own: what both rewriting strategies prepare."""

import json
from collections.abc import Mapping
from dataclasses import dataclass

from common.delta.transaction import DirectTransaction, FileChanges
from common.errors import unbalanced
from common.merge.request import MergeAttempt
from common.merge.strategy import MergeForecast
from common.model.action import ABSENT, DELETE, INSERT, SUPERSEDED, UPDATE
from common.model.position import Stamp


@dataclass(frozen=True)
class RewriteResult:
    """New files, of which nobody knows yet, and the candidates that they replace; the number of changes by their
    actions, and the number of rows that were only copied."""

    files: FileChanges
    actions: Mapping[str, int]
    copied: int


@dataclass(frozen=True)
class PreparedRewrite:
    """New files instead of the candidates, or beside all files where there are no candidates."""

    forecast: MergeForecast
    transaction: DirectTransaction
    files: FileChanges
    # What the table's history shows for the commit.
    metrics: Mapping[str, int]
    is_merge: bool

    def commit(self, stamp: Stamp) -> None:
        self.transaction.commit(stamp, self.files, self.metrics, is_merge=self.is_merge)


def prepared_rewrite(attempt: MergeAttempt, candidates: int, result: RewriteResult) -> PreparedRewrite:
    """Check that every row to write is in the new files, and that every change has found what to do."""
    files, actions, to_merge = result.files, result.actions, attempt.request.to_merge
    rows = sum(json.loads(entry["stats"])["numRecords"] for entry in files.added)
    written = result.copied + actions[INSERT] + actions[UPDATE]
    if rows != written:
        raise unbalanced(f"{written} rows were to be written, {rows} were found")
    explained = sum(actions.values())
    if explained != to_merge:
        raise unbalanced(f"{to_merge} rows were to be merged, {explained} found what to do")
    size = sum(entry["size"] for entry in files.added)
    of_append = {"numFiles": len(files.added), "numOutputRows": rows, "numOutputBytes": size}
    of_merge = {
        "operationNumSourceRows": explained,
        "numTargetRowsInserted": actions[INSERT],
        "numTargetRowsUpdated": actions[UPDATE],
        "numTargetRowsDeleted": actions[DELETE],
        "numTargetRowsCopied": result.copied,
        "numTargetFilesRemoved": len(files.removed),
        "numTargetFilesAdded": len(files.added),
        "numTargetBytesRemoved": sum(file.size for file in files.removed),
        "numTargetBytesAdded": size,
        "numTargetChangeFilesAdded": len(files.feed),
    }
    is_merge = candidates > 0
    return PreparedRewrite(
        MergeForecast(candidates, actions[SUPERSEDED], actions[ABSENT]),
        attempt.transaction,
        files,
        of_merge if is_merge else of_append,
        is_merge,
    )
