"""Merge a small batch in the driver: a few candidate files are read, merged and written without a Spark job.

What Spark does around a job takes longer than to read, join and write some megabytes: docs/adr/0013-small-merges.md.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from common.delta.candidate_files import CandidateFiles, CandidatesUnknown
from common.delta.format.data_file import DataFile
from common.delta.format.errors import UnsupportedTable
from common.delta.format.parquet_files import (
    THREADS,
    Partition,
    read_files,
    write_data_file,
    write_feed_file,
    write_files,
)
from common.delta.format.writable_table import WritableTable, writable_table
from common.delta.transaction import FileChanges
from common.merge.prepared_rewrite import PreparedRewrite, RewriteResult, prepared_rewrite
from common.merge.request import MergeAttempt
from common.merge.strategy import Declined
from common.model.action import ACTION, ACTIONS, COPY, DELETE, INSERT, UPDATE
from common.model.merge_spec import MergeSpec
from common.rules.actions import ROW, match_actions, numbered, updated_rows, with_action
from common.rules.change_feed import feed_rows


class DriverRewrite:
    """For batches and candidates that the driver can hold, of a table on a disk of this machine."""

    name = "driver rewrite"

    def prepare(self, attempt: MergeAttempt) -> PreparedRewrite | Declined:
        try:
            folder, changes = local_folder(attempt), collected_changes(attempt)
            candidates = small_candidates(attempt)
            table = writable_table(attempt.transaction.metadata, attempt.transaction.protocol)
            memory = attempt.request.limits.rewrite_memory
            result = rewrite_files(folder, table, candidates.files, changes, attempt.spec, memory)
        except UnsupportedTable as unsupported:
            return Declined(str(unsupported))
        return prepared_rewrite(attempt, len(candidates.files), result)


def local_folder(attempt: MergeAttempt) -> Path:
    if attempt.request.table.local is None:
        raise UnsupportedTable("the table lies on no disk of this machine")
    return attempt.request.table.local


def collected_changes(attempt: MergeAttempt) -> pa.Table:
    if attempt.only_merge is not None:
        raise UnsupportedTable(attempt.only_merge)
    if attempt.changes.arrow is None:
        raise UnsupportedTable("the batch is larger than the driver may hold, or has a type that Arrow does not")
    return attempt.changes.arrow


def small_candidates(attempt: MergeAttempt) -> CandidateFiles:
    candidates, limits = attempt.candidates, attempt.request.limits
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


@dataclass(frozen=True)
class Candidate:
    """A file and its rows, which are numbered through all candidates: its own begin with `first`."""

    file: DataFile
    partition: Partition
    rows: pa.Table
    first: int

    def own(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The places in this file of those rows that are in it."""
        places: npt.NDArray[np.int64] = numbers - self.first
        own: npt.NDArray[np.int64] = places[(places >= 0) & (places < self.rows.num_rows)]
        return own

    def without(self, numbers: npt.NDArray[np.int64]) -> pa.Table:
        stays = np.ones(self.rows.num_rows, dtype=bool)
        stays[self.own(numbers)] = False
        return self.rows.filter(pa.array(stays))


def rewrite_files(
    folder: Path, table: WritableTable, files: Sequence[DataFile], changes: pa.Table, spec: MergeSpec, memory: int
) -> RewriteResult:
    """Merge `changes`, one row a key, into the candidate `files`, with at most `memory` bytes of their rows.

    A candidate of which no row changes stays as it is, unless its partition gets rows: these go in with it, so that
    files do not become ever more.
    """
    spec, changes = in_names_of(table, spec), in_types_of(table, changes)
    candidates = numbered_candidates(files, read_files(folder, files, table, memory), table)
    rows = pa.concat_tables([table.schema.empty_table(), *(each.rows for each in candidates)])
    matches = match_actions(rows, changes, spec)
    removed = with_action(matches, UPDATE, DELETE)[ROW].to_numpy()
    updated = updated_rows(rows, changes, with_action(matches, INSERT, UPDATE), table.schema, spec)
    parts = by_partition(updated, table)
    replaced = [each for each in candidates if each.partition in parts or each.own(removed).size]
    with ThreadPoolExecutor(THREADS) as threads:
        for each, kept in zip(replaced, threads.map(lambda each: each.without(removed), replaced), strict=True):
            parts.setdefault(each.partition, []).append(kept)
    # An append needs no files of the feed: its readers take the rows from the new data files.
    feed = by_partition(feed_rows(rows, matches, updated), table) if table.has_change_feed and replaced else {}
    added, fed = write_files(folder, table, [(write_data_file, parts), (write_feed_file, feed)])
    counts = {each["values"]: each["counts"] for each in pc.value_counts(matches[ACTION]).to_pylist()}
    return RewriteResult(
        FileChanges(added, fed, [each.file for each in replaced]),
        actions={action: counts.get(action, 0) for action in ACTIONS if action != COPY},
        copied=sum(each.rows.num_rows for each in replaced) - len(removed),
    )


def numbered_candidates(files: Sequence[DataFile], tables: Sequence[pa.Table], table: WritableTable) -> list[Candidate]:
    firsts = accumulate((rows.num_rows for rows in tables), initial=0)
    return [
        Candidate(file, tuple(file.partition_values[name] for name in table.partition_by), rows, first)
        for file, rows, first in zip(files, tables, firsts, strict=False)
    ]


def in_names_of(table: WritableTable, spec: MergeSpec) -> MergeSpec:
    """The spec under the names that columns have in the files."""
    names = table.names
    return replace(
        spec,
        keys=tuple(names[key] for key in spec.keys),
        sets=tuple(names.get(column, column) for column in spec.sets),
        clears=tuple(names.get(column, column) for column in spec.clears),
        ordering=None if spec.ordering is None else names[spec.ordering],
    )


def in_types_of(table: WritableTable, changes: pa.Table) -> pa.Table:
    """Cast to the table's types, which hold every value of the declared ones; keys are compared in them too."""
    renamed = changes.rename_columns([table.names.get(name, name) for name in changes.column_names])
    known = set(table.schema.names)
    types = [table.schema.field(field.name).type if field.name in known else field.type for field in renamed.schema]
    return renamed.cast(pa.schema(list(zip(renamed.column_names, types, strict=True))))


def by_partition(rows: pa.Table, table: WritableTable) -> dict[Partition, list[pa.Table]]:
    """The rows of each partition of the table."""
    names = list(table.partition_by)
    if not names or not rows.num_rows:
        return {(): [rows]} if rows.num_rows else {}
    groups = numbered(rows.select(names), ROW).group_by(names, use_threads=False).aggregate([(ROW, "list")])
    parts: dict[Partition, list[pa.Table]] = {}
    for values, numbers in zip(groups.select(names).to_pylist(), groups[f"{ROW}_list"], strict=True):
        # An empty text is no value: rows of both belong to one partition.
        partition = tuple(None if value is None else str(value) or None for value in values.values())
        parts.setdefault(partition, []).append(rows.take(numbers.values))
    return parts
