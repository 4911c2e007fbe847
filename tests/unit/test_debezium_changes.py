"""What events mean for rows: operations, unchanged values, changes of keys, and schemas that change."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import types as T

from common.debezium.changes import Change, ChangeKind, Reading, changes_of, refuse_truncate
from common.debezium.conversions import Carrier
from common.debezium.folding import filled, fold, fold_batch, key_of
from common.debezium.rejection import Reason, Rejected
from common.debezium.schema_changes import (
    DEFAULT_POLICIES,
    Policy,
    Step,
    StepKind,
    policy_of,
    rename_guard,
    schema_steps,
    widens,
)
from common.debezium.source_schema import ConnectType, SourceColumn, SourceSchema, array_of, map_of
from common.debezium.type_rules import DEBEZIUM_DATA, DEBEZIUM_TIME
from common.debezium.unchanged import Marker, Placeholder, is_unchanged, marker_of, needs_full_identity
from common.delta import type_changes
from common.errors import ConfigurationError
from tests.support.debezium import message, recorded, schema_at

EVERYTHING, CUSTOMERS, ORDERS, NOTES = (f"cdc.public.{name}" for name in ("everything", "customers", "orders", "notes"))
TEXT = ConnectType("string")
PLACEHOLDER = Placeholder.of()


def only(topic: str, offset: int) -> Change:
    (change,) = message(topic, offset).changes()
    return change


def reading(*columns: str, keys: tuple[str, ...] = ("id",)) -> Reading:
    schema = SourceSchema(tuple(SourceColumn(name, TEXT) for name in columns), keys)
    return Reading(schema, keys, PLACEHOLDER, Carrier.JSON)


def upsert(key: int = 1, unchanged: Sequence[str] = (), **values: Any) -> Change:
    return Change(ChangeKind.UPSERT, {"id": key}, {"id": key, **values}, frozenset(unchanged))


@pytest.mark.parametrize(
    ("topic", "offset", "kind", "key"),
    [
        (EVERYTHING, 0, ChangeKind.UPSERT, {"id": 1}),
        (EVERYTHING, 2, ChangeKind.UPSERT, {"id": 3}),
        (EVERYTHING, 3, ChangeKind.UPSERT, {"id": 3}),
        (EVERYTHING, 12, ChangeKind.DELETE, {"id": 4}),
        (EVERYTHING, 13, ChangeKind.TOMBSTONE, {"id": 4}),
        (ORDERS, 4, ChangeKind.DELETE, {"customer": 1, "line": 2}),
        (ORDERS, 10, ChangeKind.TRUNCATE, None),
        ("mdb.shop.orders", 5, ChangeKind.UPSERT, {"customer": 1, "line": 1}),
        ("mdb.shop.orders", 10, ChangeKind.TRUNCATE, None),
    ],
)
def test_each_recorded_operation_has_its_meaning(topic: str, offset: int, kind: ChangeKind, key: Any) -> None:
    change = only(topic, offset)
    assert (change.kind, change.key) == (kind, key)


def test_a_read_is_an_upsert_that_says_so() -> None:
    assert only(EVERYTHING, 0).is_read
    assert not only(EVERYTHING, 2).is_read


def test_debezium_05_a_truncate_is_applied_where_the_topic_has_one_partition_only() -> None:
    assert (only(CUSTOMERS, 10).kind, only(CUSTOMERS, 10).key) == (ChangeKind.TRUNCATE, None)
    refuse_truncate("public.customers", 1)
    with pytest.raises(ConfigurationError, match="has 3 partitions"):
        refuse_truncate("public.customers", 3)


def test_debezium_08_a_null_is_a_null_and_never_the_default_of_its_column() -> None:
    schema = schema_at(ORDERS, 6)
    payload = {**message(ORDERS, 6).payload, "after": {"customer": 1, "line": 1, "what": "pen", "qty": None}}
    (change,) = changes_of(
        {"customer": 1, "line": 1}, payload, Reading(schema, schema.keys or (), PLACEHOLDER, Carrier.JSON)
    )
    assert schema.columns[3].default == "7"
    assert change.values == {"customer": 1, "line": 1, "what": "pen", "qty": None}


@pytest.mark.parametrize("topic", [EVERYTHING, CUSTOMERS])
def test_debezium_14_a_change_of_the_key_is_a_delete_and_an_upsert_that_know_each_other(topic: str) -> None:
    first = 9 if topic == EVERYTHING else 4
    deleted, tombstone, created = (only(topic, first + number) for number in range(3))
    assert (deleted.kind, deleted.moved_to) == (ChangeKind.DELETE, created.key)
    assert tombstone.kind is ChangeKind.TOMBSTONE
    assert (created.kind, created.moved_from) == (ChangeKind.UPSERT, deleted.key)


def test_debezium_14_an_update_that_changes_a_declared_key_is_both() -> None:
    """The declared key is not the source's: Debezium sends one update."""
    payload = {**message(CUSTOMERS, 2).payload, "before": {"id": 1, "name": "a"}, "after": {"id": 1, "name": "b"}}
    changes = changes_of({"name": "b"}, payload, reading("id", "name", keys=("name",)))
    assert [(each.kind, each.key) for each in changes] == [
        (ChangeKind.DELETE, {"name": "a"}),
        (ChangeKind.UPSERT, {"name": "b"}),
    ]
    assert changes[1].moved_from == {"name": "a"}


def test_debezium_15_recorded_placeholders_are_known_in_every_form() -> None:
    assert only(EVERYTHING, 3).unchanged == {"big"}
    assert only(EVERYTHING, 7).unchanged == {"doc", "tags", "raw"}
    assert "raw" not in (only(EVERYTHING, 7).values or {})
    (change,) = changes_of(
        {"id": 1},
        message("cdcs.public.everything", 5).payload,
        Reading(schema_at(EVERYTHING, 0), ("id",), Placeholder.of("__unavailable"), Carrier.JSON),
    )
    assert change.unchanged == {"big"}


def test_debezium_15_only_the_configured_placeholder_counts() -> None:
    (change,) = message(EVERYTHING, 3).changes("__unavailable")
    assert change.unchanged == frozenset()


CODES = [95, 95, 100, 101, 98, 101, 122, 105, 117, 109, 95, 117, 110, 97, 118, 97, 105, 108, 97, 98, 108, 101, 95, 118]
CODES += [97, 108, 117, 101]


@pytest.mark.parametrize(
    ("connect", "json", "avro"),
    [
        (TEXT, "__debezium_unavailable_value", "__debezium_unavailable_value"),
        (ConnectType("string", DEBEZIUM_DATA + "Xml"), "__debezium_unavailable_value", "__debezium_unavailable_value"),
        (
            ConnectType("string", DEBEZIUM_DATA + "Json"),
            *['{"__debezium_unavailable_value":"__debezium_unavailable_value"}'] * 2,
        ),
        (ConnectType("bytes"), "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", b"__debezium_unavailable_value"),
        (array_of(TEXT), ["__debezium_unavailable_value"], ["__debezium_unavailable_value"]),
        (array_of(ConnectType("string", DEBEZIUM_DATA + "Json")), *[["__debezium_unavailable_value"]] * 2),
        (
            array_of(ConnectType("bytes")),
            ["X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="],
            [b"__debezium_unavailable_value"],
        ),
        (array_of(ConnectType("int32")), CODES, CODES),
        (array_of(ConnectType("int32", DEBEZIUM_TIME + "Date")), CODES, CODES),
        (array_of(ConnectType("int64")), CODES, CODES),
        (map_of(TEXT, TEXT), *[{"__debezium_unavailable_value": "__debezium_unavailable_value"}] * 2),
    ],
)
def test_debezium_15_the_placeholder_takes_the_form_of_its_column(connect: ConnectType, json: Any, avro: Any) -> None:
    column = SourceColumn("c", connect)
    assert is_unchanged(column, json, PLACEHOLDER, Carrier.JSON)
    assert is_unchanged(column, avro, PLACEHOLDER, Carrier.AVRO)
    assert not is_unchanged(column, None, PLACEHOLDER, Carrier.JSON)


def test_debezium_15_the_placeholder_of_a_list_of_uuids_is_made_from_it() -> None:
    column = SourceColumn("c", array_of(ConnectType("string", DEBEZIUM_DATA + "Uuid")))
    # What java.util.UUID.nameUUIDFromBytes says.
    assert Placeholder(b"a").derived_uuid == "0cc175b9-c0f1-36a8-b1c3-99e269772661"
    assert PLACEHOLDER.derived_uuid == "b68a35a7-17ad-35b3-af2a-ae46edb4545a"
    assert is_unchanged(column, [PLACEHOLDER.derived_uuid], PLACEHOLDER, Carrier.JSON)


def test_debezium_15_a_placeholder_may_be_given_in_hexadecimal() -> None:
    placeholder = Placeholder.of("hex:e4ff")
    assert is_unchanged(SourceColumn("c", ConnectType("bytes")), b"\xe4\xff", placeholder, Carrier.AVRO)
    assert is_unchanged(SourceColumn("c", array_of(ConnectType("int32"))), [-28, -1], placeholder, Carrier.JSON)


@pytest.mark.parametrize(
    "connect",
    [
        array_of(ConnectType("float64")),
        array_of(ConnectType("int16")),
        array_of(ConnectType("int64", DEBEZIUM_TIME + "MicroTimestamp")),
        ConnectType("struct", DEBEZIUM_DATA + "geometry.Geometry"),
        ConnectType("struct", DEBEZIUM_DATA + "VariableScaleDecimal"),
        ConnectType("array", DEBEZIUM_DATA + "DoubleVector", fields=array_of(ConnectType("float64")).fields),
    ],
)
def test_debezium_15_types_without_a_form_of_the_placeholder_need_the_full_identity(connect: ConnectType) -> None:
    assert needs_full_identity(SourceColumn("c", connect))


@pytest.mark.parametrize("connect", [ConnectType("int64"), ConnectType("string", DEBEZIUM_DATA + "Uuid")])
def test_debezium_15_short_values_are_always_sent(connect: ConnectType) -> None:
    assert marker_of(connect) is Marker.NEVER


def test_unchanged_values_are_those_of_the_change_before() -> None:
    first, second = only(EVERYTHING, 6), only(EVERYTHING, 7)
    folded = fold(first, second)
    assert folded.unchanged == frozenset()
    assert (folded.values or {})["small"] == 3
    for name in ("doc", "tags", "raw"):
        assert (folded.values or {})[name] == message(EVERYTHING, 6).payload["after"][name]


def test_what_no_change_of_a_batch_knows_is_taken_from_the_table() -> None:
    folded = fold(only(EVERYTHING, 7), only(EVERYTHING, 8))
    assert folded.unchanged == {"doc", "tags", "raw"}
    row = {"doc": "{}", "tags": ["a"], "raw": "AA==", "big": "old"}
    values = filled(folded, row).values or {}
    assert [values[name] for name in ("doc", "tags", "raw", "big")] == ["{}", ["a"], "AA==", "now short"]


def test_debezium_16_the_new_key_gets_what_was_not_sent_from_the_row_of_the_old_key() -> None:
    created = only(EVERYTHING, 11)
    assert (created.moved_from, created.unchanged) == ({"id": 3}, {"big"})
    values = filled(created, None, moved={"big": "long"}).values or {}
    assert (values["id"], values["big"]) == (30, "long")
    # A row of the new key is of another life: it never has the value.
    with pytest.raises(Rejected, match="REPLICA IDENTITY FULL") as caught:
        filled(created, {"big": "other"}, moved=None)
    assert caught.value.reason is Reason.UNKNOWN_UNCHANGED


def test_debezium_16_an_update_after_the_change_of_the_key_still_knows_the_old_one() -> None:
    created = only(EVERYTHING, 11)
    later = replace(created, moved_from=None)
    assert fold(created, later).moved_from == {"id": 3}


def test_a_row_that_begins_with_a_value_that_nobody_sent_is_turned_away() -> None:
    delete, create = Change(ChangeKind.DELETE, {"id": 1}), upsert(unchanged=["big"], small="1")
    with pytest.raises(Rejected, match="big"):
        fold(delete, create)
    with pytest.raises(Rejected, match="incremental snapshot"):
        filled(create, None)


def test_debezium_17_a_delete_takes_its_key_from_the_message_and_nothing_from_before() -> None:
    before = message(ORDERS, 4).payload["before"]
    assert before["what"] == "nothing"  # the default, which the row never had
    change = only(ORDERS, 4)
    assert (change.key, change.values) == ({"customer": 1, "line": 2}, None)


def test_debezium_17_before_never_fills_a_value() -> None:
    payload = {
        **message(CUSTOMERS, 2).payload,
        "before": {"id": "1", "name": "default"},
        "after": {"id": "1", "name": "__debezium_unavailable_value"},
    }
    (change,) = changes_of({"id": "1"}, payload, reading("id", "name"))
    assert change.unchanged == {"name"}


def test_debezium_18_a_table_without_a_key_is_append_only_by_declaration() -> None:
    schema = schema_at(NOTES, 0)
    keyless = Reading(schema, (), PLACEHOLDER, Carrier.JSON)
    assert schema.keys is None
    kinds = [changes_of(None, message(NOTES, offset).payload, keyless)[0].kind for offset in (0, 1, 4)]
    assert kinds == [ChangeKind.APPEND, ChangeKind.APPEND, ChangeKind.TOMBSTONE]
    for offset in (2, 3):
        with pytest.raises(Rejected) as caught:
            changes_of(None, message(NOTES, offset).payload, keyless)
        assert caught.value.reason is Reason.KEY_MISSING
    with pytest.raises(Rejected, match=r"message\.key\.columns"):
        changes_of(None, message(NOTES, 1).payload, replace(keyless, keys=("n",)))


def test_debezium_27_a_key_that_differs_from_its_row_is_turned_away() -> None:
    schema = schema_at(CUSTOMERS, 0)
    with pytest.raises(Rejected) as caught:
        changes_of({"id": 9}, message(CUSTOMERS, 2).payload, Reading(schema, ("id",), PLACEHOLDER, Carrier.JSON))
    assert caught.value.reason is Reason.KEY_MISMATCH


def test_debezium_13_messages_of_no_table_are_skipped_wherever_they_stand() -> None:
    for topic in ("cdc.message", "cdc.transaction", "__debezium-heartbeat.cdcs", "mdb"):
        payload = next(each.payload for (name, _), each in recorded().items() if name == topic)
        assert changes_of(None, payload, reading("id")) == [Change(ChangeKind.SKIP)]


def test_an_event_without_a_row_is_turned_away() -> None:
    with pytest.raises(Rejected) as caught:
        changes_of({"id": 1}, {**message(CUSTOMERS, 2).payload, "after": None}, reading("id"))
    assert caught.value.reason is Reason.ROW_MISSING


COLUMNS = ("a", "b", "c")
STEPS = st.lists(
    st.one_of(st.just("delete"), st.fixed_dictionaries({name: st.integers(0, 3) for name in COLUMNS})),
    min_size=1,
    max_size=8,
)


@given(st.none() | st.fixed_dictionaries({name: st.integers(10, 13) for name in COLUMNS}), STEPS, st.data())
def test_folding_a_batch_is_applying_its_changes_one_by_one(table: Any, steps: list[Any], data: st.DataObject) -> None:
    """A model of the source: an update leaves out the values that it does not change, where it likes."""
    changes, row = [], table
    for step in steps:
        if step == "delete":
            changes.append(Change(ChangeKind.DELETE, {"id": 1}))
            row = None
            continue
        same = [name for name in COLUMNS if row is not None and row[name] == step[name]]
        left_out = data.draw(st.sets(st.sampled_from(same))) if same else set()
        known = {name: step[name] for name in COLUMNS if name not in left_out}
        changes.append(Change(ChangeKind.UPSERT, {"id": 1}, known, frozenset(left_out)))
        row = step
    folded = changes[0]
    for change in changes[1:]:
        folded = fold(folded, change)
    if row is None:
        assert folded.kind is ChangeKind.DELETE
    else:
        assert filled(folded, table).values == row


class Table:
    """A source table of rows with large values, and what a connector sends of it."""

    def __init__(self, rows: dict[int, dict[str, int]], data: st.DataObject) -> None:
        self.rows, self.data, self.changes = dict(rows), data, list[Change]()

    def upsert(self, key: int, row: dict[str, int], old: dict[str, int] | None, moved_from: int | None = None) -> None:
        same = [name for name in COLUMNS if old is not None and old[name] == row[name]]
        left_out = self.data.draw(st.sets(st.sampled_from(same))) if same else set()
        known = {name: row[name] for name in COLUMNS if name not in left_out}
        moved = None if moved_from is None else {"id": moved_from}
        self.rows[key] = row
        self.changes.append(Change(ChangeKind.UPSERT, {"id": key}, known, frozenset(left_out), moved_from=moved))

    def delete(self, key: int, moved_to: int | None = None) -> None:
        moved = None if moved_to is None else {"id": moved_to}
        self.changes.append(Change(ChangeKind.DELETE, {"id": key}, moved_to=moved))

    def act(self) -> None:
        key, other = self.data.draw(st.integers(1, 3)), self.data.draw(st.integers(1, 3))
        row = {name: self.data.draw(st.integers(0, 1)) for name in COLUMNS}
        action = self.data.draw(st.sampled_from(["upsert", "upsert", "delete", "move", "move", "truncate"]))
        old = self.rows.get(key)
        if action == "truncate":
            self.rows.clear()
            self.changes.append(Change(ChangeKind.TRUNCATE))
        elif action == "upsert":
            self.upsert(key, row, old)
        elif action == "delete" and old is not None:
            del self.rows[key]
            self.delete(key)
        elif action == "move" and old is not None and other not in self.rows:
            del self.rows[key]
            self.delete(key, moved_to=other)
            self.upsert(other, row, old, moved_from=key)


@given(
    st.dictionaries(st.integers(1, 3), st.fixed_dictionaries({name: st.integers(0, 1) for name in COLUMNS})), st.data()
)
def test_debezium_16_a_batch_with_changes_of_keys_gives_the_rows_of_the_source(
    before: Any, data: st.DataObject
) -> None:
    source = Table(before, data)
    for _ in range(data.draw(st.integers(1, 10))):
        source.act()
    batch = fold_batch(source.changes)
    rows = {} if batch.is_truncated else dict(before)
    for key, change in batch.changes.items():
        ((_, number),) = key
        old = None if change.moved_from is None else before.get(change.moved_from["id"])
        if change.kind is ChangeKind.DELETE:
            rows.pop(number, None)
        else:
            rows[number] = dict(filled(change, before.get(number), old).values or {})
    assert rows == source.rows


def test_debezium_16_a_row_that_was_written_in_this_batch_gives_its_values_to_its_new_key() -> None:
    known = upsert(1, big="long", small="1")
    deleted = Change(ChangeKind.DELETE, {"id": 1}, moved_to={"id": 2})
    moved = replace(upsert(2, ["big"], small="2"), moved_from={"id": 1})
    batch = fold_batch([known, deleted, moved])
    assert batch.changes[key_of({"id": 2})].values == {"id": 2, "small": "2", "big": "long"}


def test_debezium_16_the_delete_of_the_old_key_may_come_after_the_new_row() -> None:
    """They are of two partitions."""
    known = upsert(1, big="long", small="1")
    moved = replace(upsert(2, ["big"], small="2"), moved_from={"id": 1})
    late = Change(ChangeKind.DELETE, {"id": 1}, moved_to={"id": 2})
    batch = fold_batch([known, moved, late])
    assert batch.changes[key_of({"id": 2})].values == {"id": 2, "small": "2", "big": "long"}
    assert batch.changes[key_of({"id": 1})].kind is ChangeKind.DELETE


def steps_between(old: int, new: int, topic: str = ORDERS, **options: Any) -> list[Step]:
    return schema_steps(schema_at(topic, old), schema_at(topic, new), **options)


def test_debezium_06_a_rename_is_never_guessed() -> None:
    steps = steps_between(6, 7)
    assert [(step.kind, step.column, step.is_guarded) for step in steps] == [
        (StepKind.DROP, "what", True),
        (StepKind.ADD, "item", True),
    ]
    assert {policy_of(step, {StepKind.DROP: Policy.APPLY}) for step in steps} == {Policy.STOP}
    text = rename_guard(steps)
    assert text is not None
    assert "renames" in text
    assert "not_renamed" in text


def test_debezium_06_a_declared_rename_is_applied() -> None:
    (step,) = steps_between(6, 7, renames={"what": "item"})
    assert (step.kind, step.old and step.old.name, step.column) == (StepKind.RENAME, "what", "item")
    assert (policy_of(step), rename_guard([step])) == (Policy.APPLY, None)
    assert steps_between(7, 7, renames={"what": "item"}) == []


def test_debezium_06_a_drop_that_is_declared_is_no_rename() -> None:
    steps = steps_between(6, 7, not_renamed=["what"])
    assert [(step.kind, policy_of(step)) for step in steps] == [
        (StepKind.DROP, Policy.IGNORE),
        (StepKind.ADD, Policy.APPLY),
    ]


def test_debezium_07_an_added_column_tells_that_old_rows_have_changed() -> None:
    (step,) = steps_between(4, 6)
    assert (step.kind, step.column, step.changes_old_rows) == (StepKind.ADD, "qty", True)
    plain = schema_steps(SourceSchema(()), SourceSchema((SourceColumn("n", TEXT),)))
    assert [each.changes_old_rows for each in plain] == [False]


@pytest.mark.parametrize(("topic", "old", "new"), [(ORDERS, 7, 8), ("mdb.shop.orders", 8, 9)])
def test_a_widened_column_is_widened(topic: str, old: int, new: int) -> None:
    step, *others = steps_between(old, new, topic)
    assert (step.kind, step.detail, policy_of(step)) == (StepKind.WIDEN, "int to bigint", Policy.APPLY)
    assert [each.kind for each in others] == ([StepKind.NULLABLE] if topic.startswith("mdb") else [])


def test_a_dropped_column_without_a_new_one_is_no_rename() -> None:
    (step,) = steps_between(8, 9)
    assert (step.kind, step.column, step.is_guarded) == (StepKind.DROP, "qty", False)


def column(name: str, connect: ConnectType = TEXT, **options: Any) -> SourceColumn:
    return SourceColumn(name, connect, **options)


@pytest.mark.parametrize(
    ("old", "new", "kinds"),
    [
        ([column("a"), column("b")], [column("b"), column("a")], [StepKind.REORDER]),
        ([column("a")], [column("a", optional=False)], [StepKind.NOT_NULL]),
        ([column("a", ConnectType("int64"))], [column("a", ConnectType("int32"))], [StepKind.RETYPE]),
        ([column("a")], [column("a", ConnectType("int32"))], [StepKind.RETYPE]),
        ([column("a")], [column("a", default='"x"')], []),
        ([column("a"), column("b", ConnectType("int32"))], [column("a"), column("c")], [StepKind.DROP, StepKind.ADD]),
    ],
)
def test_each_difference_has_its_kind(old: Any, new: Any, kinds: list[StepKind]) -> None:
    steps = schema_steps(SourceSchema(tuple(old)), SourceSchema(tuple(new)))
    assert [step.kind for step in steps] == kinds
    assert rename_guard(steps) is None


def test_a_changed_key_stops() -> None:
    columns = (column("a", optional=False), column("b", optional=False))
    (step,) = schema_steps(SourceSchema(columns, ("a",)), SourceSchema(columns, ("a", "b")))
    assert (step.kind, policy_of(step), step.detail) == (StepKind.KEYS, Policy.STOP, "a to a, b")
    assert schema_steps(SourceSchema(columns, ("a",)), SourceSchema(columns, None)) == []


def test_debezium_25_labels_of_an_enum_are_no_schema_change() -> None:
    old, new = (ConnectType("string", DEBEZIUM_DATA + "Enum", (("allowed", labels),)) for labels in ("a,b", "a,b,c"))
    assert schema_steps(SourceSchema((column("e", old),)), SourceSchema((column("e", new),))) == []


def test_debezium_35_a_boolean_of_mysql_that_flips_its_type_is_one_type() -> None:
    number, boolean = (
        SourceSchema((column("ok", ConnectType("int16")),)),
        SourceSchema((column("ok", ConnectType("boolean")),)),
    )
    assert schema_steps(number, boolean) == schema_steps(boolean, number) == []


def test_every_kind_of_step_has_a_policy() -> None:
    assert set(DEFAULT_POLICIES) == set(StepKind)


SPARK_TYPES: dict[str, T.DataType] = {
    "tinyint": T.ByteType(),
    "smallint": T.ShortType(),
    "int": T.IntegerType(),
    "bigint": T.LongType(),
    "float": T.FloatType(),
    "double": T.DoubleType(),
    "string": T.StringType(),
    "date": T.DateType(),
    "timestamp_ntz": T.TimestampNTZType(),
    **{
        f"decimal({p},{s})": T.DecimalType(p, s)
        for p, s in ((10, 0), (10, 2), (11, 4), (12, 2), (12, 4), (20, 0), (22, 2))
    },
}


@pytest.mark.parametrize(("narrow", "wide"), list(permutations(SPARK_TYPES, 2)))
def test_what_widens_is_what_the_table_can_widen(narrow: str, wide: str) -> None:
    assert widens(narrow, wide) is type_changes.widens(SPARK_TYPES[narrow], SPARK_TYPES[wide])
