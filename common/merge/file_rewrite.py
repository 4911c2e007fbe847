"""Rewrite candidate files in this process: the actions of a MERGE, without a Spark job.

What Spark does around a job takes longer than to read, join and write some megabytes: docs/adr/0013-small-merges.md.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from common.delta.format.data_file import DataFile
from common.delta.format.parquet_files import (
    MemoryBudget,
    partition_text,
    rows_of,
    write_data_file,
    write_feed_file,
)
from common.delta.format.table_features import WritableTable
from common.model.action import ACTION, DELETE, INSERT, UPDATE
from common.model.merge_spec import MergeSpec
from common.rules.actions import ROW, match_actions, numbered, updated_rows, with_action
from common.rules.change_feed import feed_rows

THREADS = 4
# The texts of a partition's values.
Partition = tuple[str | None, ...]
# An entry of the table's log.
Entry = Mapping[str, Any]
WriteFile = Callable[[Path, Mapping[str, str | None], pa.Table, WritableTable], dict[str, Any]]


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


@dataclass(frozen=True)
class RewriteResult:
    """Files that are written and those that they replace, files of the change feed, the number of changes by their
    actions, and the number of rows that were only copied."""

    written: Sequence[Entry]
    feed: Sequence[Entry]
    replaced: Sequence[DataFile]
    actions: Mapping[str, int]
    copied: int


def rewrite_files(
    folder: Path, table: WritableTable, files: Sequence[DataFile], changes: pa.Table, spec: MergeSpec, memory: int
) -> RewriteResult:
    """Merge `changes`, one row a key, into the candidate `files`, with at most `memory` bytes of their rows.

    A candidate of which no row changes stays as it is, unless its partition gets rows: these go in with it, so that
    files do not become ever more.
    """
    spec, changes = in_names_of(table, spec), in_types_of(table, changes)
    candidates = read_candidates(folder, files, table, MemoryBudget(memory))
    rows = pa.concat_tables([table.schema.empty_table(), *(each.rows for each in candidates)])
    matches = match_actions(rows, changes, spec)
    removed = with_action(matches, UPDATE, DELETE)[ROW].to_numpy()
    updated = updated_rows(rows, changes, with_action(matches, INSERT, UPDATE), table.schema, spec)
    parts = by_partition(updated, table)
    replaced = [each for each in candidates if each.partition in parts or each.own(removed).size]
    with ThreadPoolExecutor(THREADS) as threads:
        for each, kept in zip(replaced, threads.map(lambda each: each.without(removed), replaced), strict=True):
            parts.setdefault(each.partition, []).append(kept)
    copied = sum(each.rows.num_rows for each in replaced) - len(removed)
    actions = {each["values"]: each["counts"] for each in pc.value_counts(matches[ACTION]).to_pylist()}
    # An append needs no files of the feed: its readers take the rows from the new data files.
    feed = by_partition(feed_rows(rows, matches, updated), table) if table.has_change_feed and replaced else {}
    written = write_all(folder, table, [(write_data_file, parts), (write_feed_file, feed)])
    return RewriteResult(written[0], written[1], [each.file for each in replaced], actions, copied)


def in_names_of(table: WritableTable, spec: MergeSpec) -> MergeSpec:
    """The spec under the names that columns have in the files."""
    names = table.names
    return replace(
        spec,
        keys=tuple(names[key] for key in spec.keys),
        columns=tuple(names[column] for column in spec.columns),
        ordering=None if spec.ordering is None else names[spec.ordering],
        nulled=tuple(names[column] for column in spec.nulled),
    )


def in_types_of(table: WritableTable, changes: pa.Table) -> pa.Table:
    """Cast to the table's types, which hold every value of the declared ones; keys are compared in them too."""
    renamed = changes.rename_columns([table.names.get(name, name) for name in changes.column_names])
    known = set(table.schema.names)
    types = [table.schema.field(field.name).type if field.name in known else field.type for field in renamed.schema]
    return renamed.cast(pa.schema(list(zip(renamed.column_names, types, strict=True))))


def read_candidates(
    folder: Path, files: Sequence[DataFile], table: WritableTable, budget: MemoryBudget
) -> list[Candidate]:
    with ThreadPoolExecutor(THREADS) as threads:
        tables = list(threads.map(lambda file: rows_of(folder, file, table, budget), files))
    firsts = accumulate((rows.num_rows for rows in tables), initial=0)
    return [
        Candidate(file, tuple(file.partition_values[name] for name in table.partition_by), rows, first)
        for file, rows, first in zip(files, tables, firsts, strict=False)
    ]


def write_all(
    folder: Path,
    table: WritableTable,
    kinds: Sequence[tuple[WriteFile, Mapping[Partition, Sequence[pa.Table]]]],
) -> list[list[Entry]]:
    """A file for each partition that has rows, or none at all: what was written goes again if one of them fails."""
    with ThreadPoolExecutor(THREADS) as threads:
        futures = [
            [
                threads.submit(write_file, folder, dict(zip(table.partition_by, partition, strict=True)), rows, table)
                for partition, several in parts.items()
                if (rows := pa.concat_tables(several)).num_rows
            ]
            for write_file, parts in kinds
        ]
    every = [future for several in futures for future in several]
    failures = [error for future in every if (error := future.exception()) is not None]
    if failures:
        remove_written(folder, every)
        raise failures[0]
    return [[future.result() for future in several] for several in futures]


def remove_written(folder: Path, futures: Sequence[Future[dict[str, Any]]]) -> None:
    for future in futures:
        if future.exception() is None:
            (folder / unquote(future.result()["path"])).unlink()


def by_partition(rows: pa.Table, table: WritableTable) -> dict[Partition, list[pa.Table]]:
    """The rows of each partition of the table."""
    names = list(table.partition_by)
    if not names or not rows.num_rows:
        return {(): [rows]} if rows.num_rows else {}
    groups = numbered(rows.select(names), ROW).group_by(names, use_threads=False).aggregate([(ROW, "list")])
    parts: dict[Partition, list[pa.Table]] = {}
    for values, numbers in zip(groups.select(names).to_pylist(), groups[f"{ROW}_list"], strict=True):
        # An empty text is no value: rows of both belong to one partition.
        parts.setdefault(tuple(map(partition_text, values.values())), []).append(rows.take(numbers.values))
    return parts
