"""What each change does to the rows of a table, against a plain loop over both."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from common.model.action import ABSENT, ACTION, DELETE, INSERT, SUPERSEDED, UPDATE
from common.model.disposition import DELETED
from common.model.merge_spec import MergeSpec
from common.rules.actions import CHANGE, ROW, match_actions, updated_rows, with_action

SCHEMA = pa.schema([("id", pa.float64()), ("version", pa.int64()), ("value", pa.string()), ("old", pa.string())])
CHANGED = pa.schema([("id", pa.float64()), ("version", pa.int64()), ("value", pa.string()), (DELETED, pa.bool_())])
KEYS = st.sampled_from([-1.0, 0.0, -0.0, 2.5])
TABLE = st.dictionaries(KEYS, st.none() | st.integers(0, 3))
CHANGES = st.dictionaries(KEYS, st.tuples(st.integers(0, 3), st.booleans()))


def spec(*, ordering: str | None = "version", deletes: bool = True, clears: tuple[str, ...] = ()) -> MergeSpec:
    return MergeSpec(("id",), ("id", "version", "value"), clears, ordering, deletes)


def rows_of(table: dict[float, int | None]) -> pa.Table:
    rows = [{"id": key, "version": version, "value": "row", "old": "kept"} for key, version in table.items()]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def changes_of(changes: dict[float, tuple[int, bool]]) -> pa.Table:
    rows = [{"id": k, "version": v, "value": "change", DELETED: d or None} for k, (v, d) in changes.items()]
    return pa.Table.from_pylist(rows, schema=CHANGED)


def expected(table: dict[float, int | None], key: float, version: int, *, ordered: bool, deletes: bool) -> str:
    if key not in table:
        return ABSENT if deletes else INSERT
    standing = table[key]
    if ordered and standing is not None and version <= standing:
        return SUPERSEDED
    return DELETE if deletes else UPDATE


@given(table=TABLE, changes=CHANGES, ordered=st.booleans())
def test_each_change_has_the_action_of_a_plain_loop(
    table: dict[float, int | None], changes: dict[float, tuple[int, bool]], *, ordered: bool
) -> None:
    matches = match_actions(rows_of(table), changes_of(changes), spec(ordering="version" if ordered else None))
    assert matches[CHANGE].to_pylist() == list(range(len(changes)))
    actions = [expected(table, key, v, ordered=ordered, deletes=d) for key, (v, d) in changes.items()]
    assert matches[ACTION].to_pylist() == actions
    keys = list(table)
    found = [None if row is None else keys[row] for row in matches[ROW].to_pylist()]
    assert found == [next((each for each in keys if each == key), None) for key in changes]


@given(TABLE, CHANGES)
def test_new_rows_have_the_changes_values_and_keep_what_is_not_set(
    table: dict[float, int | None], changes: dict[float, tuple[int, bool]]
) -> None:
    rows, given_changes = rows_of(table), changes_of(changes)
    matches = with_action(match_actions(rows, given_changes, spec()), INSERT, UPDATE)
    kept = updated_rows(rows, given_changes, matches, SCHEMA, spec()).to_pylist()
    assert {row["value"] for row in kept} <= {"change"}
    assert [row["old"] for row in kept] == [
        None if action == INSERT else "kept" for action in matches[ACTION].to_pylist()
    ]
    cleared = updated_rows(rows, given_changes, matches, SCHEMA, spec(clears=("old",))).to_pylist()
    assert {row["old"] for row in cleared} <= {None}


def test_an_update_keeps_the_key_as_the_row_has_it() -> None:
    rows, given_changes = rows_of({0.0: 1}), changes_of({-0.0: (2, False)})
    matches = match_actions(rows, given_changes, spec())
    (row,) = updated_rows(rows, given_changes, matches, SCHEMA, spec()).to_pylist()
    assert str(row["id"]) == "0.0"
