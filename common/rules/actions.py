"""Decide what each change of a batch does to the rows of a table: the rule that every merge strategy follows.

Deletes of nothing do nothing, and neither do events that a newer row keeps out.
"""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from common.model.action import ABSENT, ACTION, DELETE, INSERT, SUPERSEDED, UPDATE
from common.model.disposition import DELETED
from common.model.merge_spec import MergeSpec
from common.rules.compare import sortable

# Row numbers of the change and of the row that has its key.
CHANGE = "_change"
ROW = "_row"


def match_actions(rows: pa.Table, changes: pa.Table, spec: MergeSpec) -> pa.Table:
    """One line for each change: CHANGE, ROW (null where the key has no row) and ACTION."""
    pairs = join_by_key(rows, changes, spec.keys)
    matched = changes.take(pairs[CHANGE])
    deletes = pc.fill_null(matched[DELETED], fill_value=False) if spec.deletes else False
    newer = True
    if spec.ordering is not None:
        newer = is_newer(matched[spec.ordering], rows[spec.ordering].take(pairs[ROW]))
    on_row = pc.if_else(newer, pc.if_else(deletes, DELETE, UPDATE), SUPERSEDED)
    actions = pc.if_else(pc.is_null(pairs[ROW]), pc.if_else(deletes, ABSENT, INSERT), on_row)
    return pairs.append_column(ACTION, actions)


def with_action(matches: pa.Table, *actions: str) -> pa.Table:
    """The lines of `match_actions` that have one of these actions."""
    return matches.filter(pc.is_in(matches[ACTION], pa.array(actions)))


def join_by_key(rows: pa.Table, changes: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Pair each change with the row that has its key, by their numbers. A key of a change is never null."""
    left, right = numbered(changes.select(keys), CHANGE), numbered(rows.select(keys), ROW)
    # Most rows of the files are none of these, and to join all of them takes much longer. Floats last: of these a
    # sortable form has to be made.
    for key in sorted(keys, key=lambda key: pa.types.is_floating(rows.schema.field(key).type)):
        wanted, present = sortable(left[key]), sortable(right[key])
        left = left.set_column(left.schema.get_field_index(key), key, wanted)
        right = right.set_column(right.schema.get_field_index(key), key, present).filter(pc.is_in(present, wanted))
    return left.join(right, list(keys), join_type="left outer").select([CHANGE, ROW]).sort_by(CHANGE)


def numbered(rows: pa.Table, name: str) -> pa.Table:
    """Append the row numbers as a column."""
    return rows.append_column(name, pa.array(np.arange(rows.num_rows)))


def is_newer(news: pa.ChunkedArray, olds: pa.ChunkedArray) -> pa.ChunkedArray:
    """True where the new value is greater; a null old value counts as older."""
    is_greater = pc.fill_null(pc.greater(sortable(news), sortable(olds)), fill_value=False)
    return pc.or_(pc.is_null(olds), is_greater)


def updated_rows(rows: pa.Table, changes: pa.Table, matches: pa.Table, schema: pa.Schema, spec: MergeSpec) -> pa.Table:
    """The new rows of all matches that insert or update, in the table's schema.

    A column has the change's value where the spec sets it, else the value of the row, which is null for a new row.
    """
    news, olds = changes.take(matches[CHANGE]), rows.take(matches[ROW])
    inserts = pc.equal(matches[ACTION], INSERT)

    def value(field: pa.Field) -> pa.Array | pa.ChunkedArray:
        name = field.name
        if name in spec.keys:
            return pc.if_else(inserts, news[name], olds[name])
        if name in spec.sets:
            return news[name]
        return pa.nulls(matches.num_rows, field.type) if name in spec.clears else olds[name]

    return pa.table([value(field) for field in schema], schema=schema)
