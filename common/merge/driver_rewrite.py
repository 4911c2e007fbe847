"""Merge a small batch in the driver: a few candidate files are read, merged and written without a Spark job."""

from pathlib import Path

import pyarrow as pa

from common.delta.candidate_files import CandidateFiles, CandidatesUnknown
from common.delta.format.errors import UnsupportedTable
from common.merge.file_rewrite import rewrite_files
from common.merge.prepared_rewrite import NewFiles, PreparedRewrite
from common.merge.request import MergeRequest
from common.merge.strategy import Declined
from common.model.action import ACTIONS, COPY


class DriverRewrite:
    """For batches and candidates that the driver can hold, of a table on a disk of this machine."""

    name = "driver rewrite"

    def prepare(self, request: MergeRequest) -> PreparedRewrite | Declined:
        try:
            folder, changes = local_folder(request), collected_changes(request)
            candidates = small_candidates(request)
            table = request.transaction.writable_table()
            memory = request.limits.rewrite_memory
            result = rewrite_files(folder, table, candidates.files, changes, request.spec, memory)
        except UnsupportedTable as unsupported:
            return Declined(str(unsupported))
        actions = {action: result.actions.get(action, 0) for action in ACTIONS if action != COPY}
        rows = request.fenced_transaction().adopt(result.written, result.feed)
        return PreparedRewrite(request, len(candidates.files), NewFiles(rows, result.copied, actions, result.replaced))


def local_folder(request: MergeRequest) -> Path:
    if request.table.local is None:
        raise UnsupportedTable("the table lies on no disk of this machine")
    return request.table.local


def collected_changes(request: MergeRequest) -> pa.Table:
    if request.alignment.only_merge is not None:
        raise UnsupportedTable(request.alignment.only_merge)
    if request.changes.arrow is None:
        raise UnsupportedTable("the batch is larger than the driver may hold, or has a type that Arrow does not")
    return request.changes.arrow


def small_candidates(request: MergeRequest) -> CandidateFiles:
    candidates, limits = request.candidates, request.limits
    if isinstance(candidates, CandidatesUnknown):
        raise UnsupportedTable(candidates.reason)
    if candidates.have_deletion_vectors:
        raise UnsupportedTable("a candidate file has a deletion vector")
    if candidates.bytes > limits.rewrite_bytes or candidates.rows > limits.rewrite_rows:
        raise UnsupportedTable(
            f"the candidate files have {candidates.bytes} bytes and {candidates.rows} rows, "
            f"and the driver rewrites at most {limits.rewrite_bytes} and {limits.rewrite_rows}"
        )
    return candidates
