"""Make the rows of Delta's change feed for a merge: what each row was before and is after it."""

import pyarrow as pa
import pyarrow.compute as pc

from common.model.action import ACTION, DELETE, INSERT, UPDATE
from common.rules.actions import ROW, with_action

CHANGE_TYPE = "_change_type"


def feed_rows(rows: pa.Table, matches: pa.Table, updated: pa.Table) -> pa.Table:
    """Return inserts, deletes, and both images of updates, with the kind of each in CHANGE_TYPE.

    `updated` are the rows of `updated_rows` for the matches that insert or update, in their order.
    """
    actions = with_action(matches, INSERT, UPDATE)[ACTION]
    before = with_action(matches, UPDATE)[ROW]
    deleted = with_action(matches, DELETE)[ROW]
    return pa.concat_tables(
        [
            of_type(updated.filter(pc.equal(actions, INSERT)), "insert"),
            of_type(rows.take(before), "update_preimage"),
            of_type(updated.filter(pc.equal(actions, UPDATE)), "update_postimage"),
            of_type(rows.take(deleted), "delete"),
        ]
    )


def of_type(rows: pa.Table, kind: str) -> pa.Table:
    return rows.append_column(CHANGE_TYPE, pa.repeat(pa.scalar(kind), rows.num_rows))
