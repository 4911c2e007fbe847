"""The rows of the change feed: inserts, deletes, and both images of updates."""

import pyarrow as pa

from common.model.action import ABSENT, ACTION, DELETE, INSERT, SUPERSEDED, UPDATE
from common.rules.actions import CHANGE, ROW
from common.rules.change_feed import CHANGE_TYPE, feed_rows

ROWS = pa.table({"id": [1, 2, 3], "value": ["a", "b", "c"]})


def test_each_action_leaves_its_rows() -> None:
    actions = [UPDATE, INSERT, DELETE, SUPERSEDED, ABSENT]
    matches = pa.table({CHANGE: range(5), ROW: pa.array([0, None, 1, 2, None], pa.int64()), ACTION: actions})
    updated = pa.table({"id": [1, 9], "value": ["new", "first"]})
    feed = [tuple(row.values()) for row in feed_rows(ROWS, matches, updated).to_pylist()]
    assert sorted(feed) == [
        (1, "a", "update_preimage"),
        (1, "new", "update_postimage"),
        (2, "b", "delete"),
        (9, "first", "insert"),
    ]


def test_nothing_to_do_leaves_no_rows_and_the_columns() -> None:
    matches = pa.table(
        {CHANGE: pa.array([], pa.int64()), ROW: pa.array([], pa.int64()), ACTION: pa.array([], pa.string())}
    )
    feed = feed_rows(ROWS, matches, ROWS.slice(0, 0))
    assert (feed.num_rows, feed.column_names) == (0, ["id", "value", CHANGE_TYPE])
