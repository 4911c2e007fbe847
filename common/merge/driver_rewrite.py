"""Changes merged with a few candidate files in this process: the same actions as in a MERGE, without a Spark job.

What Spark does around a job takes longer than to read, join and write some megabytes: docs/adr/0013-small-merges.md.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from common.delta.file_skipping import File
from common.delta.format.parquet_files import MemoryBudget, partition_text, rows_of, write_file
from common.delta.format.table_features import WritableTable
from common.delta.lineage import LINEAGE
from common.merge.delta_merge import MergeSpec
from common.merge.spark_rewrite import ABSENT, ACTION, DELETE, INSERT, SUPERSEDED, UPDATE
from common.rules.compare import sortable
from common.spark.validate.tombstone import DELETED

CHANGE = "_change"
NUMBER = "_number"
THREADS = 4
# Of candidates, once they are read.
ROOM_BYTES = 256 * 2**20
Partition = tuple[str | None, ...]
Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Candidate:
    """A file and its rows, which are numbered through all candidates: its own begin with `first`."""

    file: File
    partition: Partition
    rows: pa.Table
    first: int

    def own(self, numbers: Numbers) -> Numbers:
        """Their places in this file."""
        places: Numbers = numbers - self.first
        own: Numbers = places[(places >= 0) & (places < self.rows.num_rows)]
        return own

    def without(self, numbers: Numbers) -> pa.Table:
        stays = np.ones(self.rows.num_rows, dtype=bool)
        stays[self.own(numbers)] = False
        return self.rows.filter(pa.array(stays))


@dataclass(frozen=True)
class RewriteResult:
    """Files that are written and those that they replace; how many changes did what, and how many rows were only
    copied."""

    written: Sequence[Mapping[str, Any]]
    replaced: Sequence[File]
    actions: Mapping[str, int]
    copied: int


def driver_rewrite(
    folder: Path, table: WritableTable, files: Sequence[File], changes: pa.Table, spec: MergeSpec, sequence: str | None
) -> RewriteResult:
    """`changes` holds one row per key; with a sequence, only a greater one replaces a row.

    A candidate of which no row changes stays as it is, unless its partition gets rows: these go in with it, so that
    files do not become ever more.
    """
    candidates, changes = read(folder, files, table), in_types_of(table, changes)
    stand = pa.concat_tables([table.schema.empty_table(), *(each.rows for each in candidates)])
    actions_by_row = match_actions(stand, changes, spec, sequence)
    gone = with_action(actions_by_row, UPDATE, DELETE)[NUMBER].to_numpy()
    parts = by_partition(updated_rows(stand, changes, with_action(actions_by_row, INSERT, UPDATE), table, spec), table)
    replaced = [each for each in candidates if each.partition in parts or each.own(gone).size]
    with ThreadPoolExecutor(THREADS) as several:
        for each, rows in zip(replaced, several.map(lambda each: each.without(gone), replaced), strict=True):
            parts.setdefault(each.partition, []).append(rows)
    copied = sum(each.rows.num_rows for each in replaced) - len(gone)
    actions = {each["values"]: each["counts"] for each in pc.value_counts(actions_by_row[ACTION]).to_pylist()}
    return RewriteResult(write(folder, parts, table), [each.file for each in replaced], actions, copied)


def in_types_of(table: WritableTable, changes: pa.Table) -> pa.Table:
    """Cast to the table's types, which hold every value of the declared ones; keys are compared in them too."""
    known = set(table.schema.names)
    types = [table.schema.field(field.name).type if field.name in known else field.type for field in changes.schema]
    return changes.cast(pa.schema(list(zip(changes.column_names, types, strict=True))))


def read(folder: Path, files: Sequence[File], table: WritableTable) -> list[Candidate]:
    room = MemoryBudget(ROOM_BYTES)
    with ThreadPoolExecutor(THREADS) as several:
        found = list(several.map(lambda file: rows_of(folder, file, table, room), files))
    firsts = accumulate((rows.num_rows for rows in found), initial=0)
    return [
        Candidate(file, tuple(file.partition_values[name] for name in table.partition_by), rows, first)
        for file, rows, first in zip(files, found, firsts, strict=False)
    ]


def write(folder: Path, parts: Mapping[Partition, Sequence[pa.Table]], table: WritableTable) -> list[Mapping[str, Any]]:
    """A file for each partition that has rows, or none at all."""
    wholes = {place: pa.concat_tables(found) for place, found in parts.items()}
    with ThreadPoolExecutor(THREADS) as several:
        tried = [
            several.submit(write_file, folder, dict(zip(table.partition_by, place, strict=True)), rows, table)
            for place, rows in wholes.items()
            if rows.num_rows
        ]
    failures = [error for each in tried if (error := each.exception()) is not None]
    if failures:
        for each in tried:
            if each.exception() is None:
                (folder / unquote(each.result()["path"])).unlink()
        raise failures[0]
    return [each.result() for each in tried]


def match_actions(stand: pa.Table, changes: pa.Table, spec: MergeSpec, sequence: str | None) -> pa.Table:
    """What each change does, and to which row. The same as in the MERGE: deletes of nothing and events that a newer row
    keeps out do nothing."""
    found = pairs(stand, changes, spec.keys)
    of_change = changes.take(found[CHANGE])
    deletes = pc.fill_null(of_change[DELETED], fill_value=False) if spec.deletes else False
    may = True if sequence is None else is_newer(of_change[sequence], stand[sequence].take(found[NUMBER]))
    on_row = pc.if_else(may, pc.if_else(deletes, DELETE, UPDATE), SUPERSEDED)
    actions = pc.if_else(pc.is_null(found[NUMBER]), pc.if_else(deletes, ABSENT, INSERT), on_row)
    return found.append_column(ACTION, actions)


def with_action(actions_by_row: pa.Table, *actions: str) -> pa.Table:
    return actions_by_row.filter(pc.is_in(actions_by_row[ACTION], pa.array(actions)))


def pairs(stand: pa.Table, changes: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Each change with the row that has its key, by their numbers. A key of a change is never null."""
    left, right = numbered(changes.select(keys), CHANGE), numbered(stand.select(keys), NUMBER)
    # Most rows of the files are none of these, and to join all of them takes much longer. Floats last: of these a
    # comparable form has to be made.
    for key in sorted(keys, key=lambda key: pa.types.is_floating(stand.schema.field(key).type)):
        wanted, found = sortable(left[key]), sortable(right[key])
        left = left.set_column(left.schema.get_field_index(key), key, wanted)
        right = right.set_column(right.schema.get_field_index(key), key, found).filter(pc.is_in(found, wanted))
    return left.join(right, list(keys), join_type="left outer").select([CHANGE, NUMBER]).sort_by(CHANGE)


def numbered(rows: pa.Table, name: str) -> pa.Table:
    return rows.append_column(name, pa.array(np.arange(rows.num_rows)))


def is_newer(news: pa.ChunkedArray, olds: pa.ChunkedArray) -> pa.ChunkedArray:
    """Than nothing, everything is."""
    is_greater = pc.fill_null(pc.greater(sortable(news), sortable(olds)), fill_value=False)
    return pc.or_(pc.is_null(olds), is_greater)


def updated_rows(
    stand: pa.Table, changes: pa.Table, actions_by_row: pa.Table, table: WritableTable, spec: MergeSpec
) -> pa.Table:
    """The rows of all changes that insert or update: of each column the change's value where it sets it, else what
    stands, which is nothing for a new row."""
    news, olds = changes.take(actions_by_row[CHANGE]), stand.take(actions_by_row[NUMBER])
    inserts = pc.equal(actions_by_row[ACTION], INSERT)

    def chosen(field: pa.Field) -> pa.Array | pa.ChunkedArray:
        name = field.name
        if name in spec.keys:
            return pc.if_else(inserts, news[name], olds[name])
        if name in spec.columns or (name == LINEAGE and spec.lineage):
            return news[name]
        # A pipeline that no longer declares lineage must not leave the origin of another event with its own.
        return pa.nulls(actions_by_row.num_rows, field.type) if name == LINEAGE or name in spec.nulled else olds[name]

    return pa.table([chosen(field) for field in table.schema], schema=table.schema)


def by_partition(rows: pa.Table, table: WritableTable) -> dict[Partition, list[pa.Table]]:
    names = list(table.partition_by)
    if not names or not rows.num_rows:
        return {(): [rows]} if rows.num_rows else {}
    found = numbered(rows.select(names), NUMBER).group_by(names, use_threads=False).aggregate([(NUMBER, "list")])
    parts: dict[Partition, list[pa.Table]] = {}
    for values, numbers in zip(found.select(names).to_pylist(), found[f"{NUMBER}_list"], strict=True):
        # An empty text is no value: rows of both belong to one partition.
        parts.setdefault(tuple(map(partition_text, values.values())), []).append(rows.take(numbers.values))
    return parts
