"""A few changes merged with a few candidate files in this process: the same actions as in a MERGE, without a Spark job.

What Spark does around a job takes longer than to read, join and write some megabytes: docs/adr/0013-small-merges.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.arrow import comparable, is_greater, with_same_bits
from common.divide.tombstone import DELETED
from common.merge.data_files import partition_text, rows_of, write_file
from common.merge.kernel import File
from common.merge.origin import LINEAGE
from common.merge.plain import PlainTable
from common.merge.rewrite import ABSENT, DELETE, INSERT, SUPERSEDED, UPDATE
from common.merge.upsert import Upsert

CHANGE = "_change"
NUMBER = "_number"
THREADS = 4
# Of candidates, in memory.
HELD_BYTES = 256 * 2**20
Partition = tuple[str | None, ...]


@dataclass(frozen=True)
class Candidate:
    """A file and its rows, which are numbered through all candidates: its own begin with `first`."""

    file: File
    partition: Partition
    rows: pa.Table
    first: int

    def own(self, numbers: Sequence[int]) -> list[int]:
        """Their places in this file."""
        return [number - self.first for number in numbers if 0 <= number - self.first < self.rows.num_rows]

    def without(self, numbers: Sequence[int]) -> pa.Table:
        stays = np.ones(self.rows.num_rows, dtype=bool)
        stays[self.own(numbers)] = False
        return self.rows.filter(pa.array(stays))


@dataclass(frozen=True)
class Deed:
    """What a change does, and to which row."""

    action: str
    change: int
    number: int | None


@dataclass(frozen=True)
class ByHand:
    """Files that are written and those that they replace; what each change did, and how many rows were only copied."""

    written: Sequence[Mapping[str, Any]]
    replaced: Sequence[File]
    actions: Sequence[str]
    copied: int


def merge_by_hand(
    folder: Path, table: PlainTable, files: Sequence[File], changes: pa.Table, upsert: Upsert, sequence: str | None
) -> ByHand:
    """`changes` holds one row per key; with a sequence, only a greater one replaces a row.

    A candidate of which no row changes stays as it is, unless its partition gets rows: these go in with it, so that
    files do not become ever more.
    """
    candidates = read(folder, files, table)
    stand = pa.concat_tables([table.schema.empty_table(), *(each.rows for each in candidates)])
    deeds = list(deeds_of(stand, changes, upsert, sequence))
    gone = [deed.number for deed in deeds if deed.action in {UPDATE, DELETE} and deed.number is not None]
    parts = by_partition(rows_set(stand, changes, deeds, table, upsert), table)
    replaced = [each for each in candidates if each.partition in parts or each.own(gone)]
    for each in replaced:
        parts.setdefault(each.partition, []).append(each.without(gone))
    copied = sum(each.rows.num_rows for each in replaced) - len(gone)
    written = write(folder, parts, table)
    return ByHand(written, [each.file for each in replaced], [deed.action for deed in deeds], copied)


def read(folder: Path, files: Sequence[File], table: PlainTable) -> list[Candidate]:
    candidates: list[Candidate] = []
    first, most_bytes = 0, HELD_BYTES
    for file in files:
        rows = rows_of(folder, file, table, most_bytes)
        candidates.append(
            Candidate(file, tuple(file.partition_values[name] for name in table.partition_by), rows, first)
        )
        first, most_bytes = first + rows.num_rows, most_bytes - rows.nbytes
    return candidates


def write(folder: Path, parts: Mapping[Partition, Sequence[pa.Table]], table: PlainTable) -> list[Mapping[str, Any]]:
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


def deeds_of(stand: pa.Table, changes: pa.Table, upsert: Upsert, sequence: str | None) -> Iterator[Deed]:
    """The same as in the MERGE: deletes of nothing and events that a newer row keeps out do nothing."""
    deletes = changes[DELETED].to_pylist() if upsert.deletes else [False] * changes.num_rows
    found = pairs(stand, changes, upsert.keys)
    for (change, number), may in zip(found, allowed(stand, changes, found, sequence), strict=True):
        if number is None:
            action = ABSENT if deletes[change] else INSERT
        elif not may:
            action = SUPERSEDED
        else:
            action = DELETE if deletes[change] else UPDATE
        yield Deed(action, change, number)


def pairs(stand: pa.Table, changes: pa.Table, keys: Sequence[str]) -> list[tuple[int, int | None]]:
    """Each change with the row that has its key, by their numbers. A key of a change is never null."""
    left, right = keyed(changes, keys, CHANGE), keyed(stand, keys, NUMBER)
    for key in keys:  # Most rows of the files are none of these, and to join all of them takes much longer.
        right = right.filter(pc.is_in(right[key], left[key].combine_chunks()))
    found = left.join(right, list(keys), join_type="left outer")
    return sorted(zip(found[CHANGE].to_pylist(), found[NUMBER].to_pylist(), strict=True), key=lambda pair: pair[0])


def keyed(rows: pa.Table, keys: Sequence[str], number: str) -> pa.Table:
    """Only the keys, in a form in which the same key has the same bits, and each row's number."""
    columns = {key: with_same_bits(rows[key]) for key in keys}
    return pa.table({**columns, number: pa.array(np.arange(rows.num_rows))})


def allowed(
    stand: pa.Table, changes: pa.Table, found: Sequence[tuple[int, int | None]], sequence: str | None
) -> list[bool]:
    """Whether a change may replace the row of its key: without a sequence it always may."""
    if sequence is None:
        return [True] * len(found)
    news = comparable(changes[sequence].take(pa.array([change for change, _ in found], pa.int64())))
    olds = comparable(stand[sequence].take(pa.array([number for _, number in found], pa.int64())))
    return [old is None or is_greater(new, old) for new, old in zip(news, olds, strict=True)]


def rows_set(stand: pa.Table, changes: pa.Table, deeds: Sequence[Deed], table: PlainTable, upsert: Upsert) -> pa.Table:
    """The rows of all changes that insert or update: of each column the change's value where it sets it, else what
    stands, which is nothing for a new row."""
    setting = [deed for deed in deeds if deed.action in {INSERT, UPDATE}]
    news = changes.take(pa.array([deed.change for deed in setting], pa.int64()))
    olds = stand.take(pa.array([deed.number for deed in setting], pa.int64()))
    inserts = pa.array([deed.action == INSERT for deed in setting], pa.bool_())

    def chosen(field: pa.Field) -> pa.Array | pa.ChunkedArray:
        name = field.name
        if name in upsert.keys:
            return pc.if_else(inserts, news[name], olds[name])
        if name in upsert.columns or (name == LINEAGE and upsert.lineage):
            return news[name].cast(field.type)
        # A pipeline that no longer declares lineage must not leave the origin of another event with its own.
        return pa.nulls(len(setting), field.type) if name == LINEAGE else olds[name]

    return pa.table([chosen(field) for field in table.schema], schema=table.schema)


def by_partition(rows: pa.Table, table: PlainTable) -> dict[Partition, list[pa.Table]]:
    if not table.partition_by:
        return {(): [rows]} if rows.num_rows else {}
    places: dict[Partition, list[int]] = {}
    for index, values in enumerate(zip(*(rows[name].to_pylist() for name in table.partition_by), strict=True)):
        places.setdefault(tuple(map(partition_text, values)), []).append(index)
    return {place: [rows.take(indices)] for place, indices in places.items()}
