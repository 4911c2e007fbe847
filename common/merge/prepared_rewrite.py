"""New files in place of the candidates, in a commit of our own: what both rewriting strategies prepare."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.delta.format.data_file import DataFile
from common.delta.transaction import DirectTransaction
from common.errors import unbalanced
from common.merge.request import MergeRequest
from common.merge.strategy import MergeForecast
from common.model.action import ABSENT, DELETE, INSERT, SUPERSEDED, UPDATE
from common.model.position import Stamp


@dataclass(frozen=True)
class NewFiles:
    """Files of which nobody knows yet: their rows, how many of these are only copied, the number of changes by their
    actions, and the candidates that the new files replace."""

    rows: int
    copied: int
    actions: Mapping[str, int]
    replaced: Sequence[DataFile]


class PreparedRewrite:
    """New files instead of the candidates, or beside all files where there are no candidates."""

    def __init__(self, request: MergeRequest, candidates: int, new: NewFiles) -> None:
        self._transaction: DirectTransaction = request.transaction
        self._new, self._is_append = new, not candidates
        written = new.copied + new.actions[INSERT] + new.actions[UPDATE]
        if new.rows != written:
            raise unbalanced(f"{written} rows were to be written, {new.rows} were found")
        explained = sum(new.actions.values())
        if explained != request.to_merge:
            raise unbalanced(f"{request.to_merge} rows were to be merged, {explained} found what to do")
        self.forecast = MergeForecast(candidates, new.actions[SUPERSEDED], new.actions[ABSENT])

    def commit(self, stamp: Stamp) -> None:
        self._transaction.commit(stamp, self._new.replaced, None if self._is_append else self._metrics())

    def _metrics(self) -> dict[str, int]:
        actions, removed = self._new.actions, self._new.replaced
        return {
            "operationNumSourceRows": sum(actions.values()),
            "numTargetRowsInserted": actions[INSERT],
            "numTargetRowsUpdated": actions[UPDATE],
            "numTargetRowsDeleted": actions[DELETE],
            "numTargetRowsCopied": self._new.copied,
            "numTargetFilesRemoved": len(removed),
            "numTargetFilesAdded": self._transaction.files_written,
            "numTargetBytesRemoved": sum(file.size for file in removed),
            "numTargetBytesAdded": self._transaction.bytes_written,
            "numTargetChangeFilesAdded": self._transaction.feed_files_written,
        }
