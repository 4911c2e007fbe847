"""Messages of Debezium: their kinds, topics, schemas in each format, and keys."""

import json
from typing import Any

import pytest

from common.debezium.avro_schema import schema_of_avro
from common.debezium.envelope import (
    MessageKind,
    Operation,
    Snapshot,
    header_key,
    message_kind,
    payload_of,
    read_event,
    refuse_other_keys,
    snapshot_of,
    transaction_of,
)
from common.debezium.json_schema import schema_of_texts, source_schema
from common.debezium.rejection import Reason, Rejected
from common.debezium.snapshots import ends_table, snapshot_id
from common.debezium.source_schema import SOURCE_NAME, SOURCE_TYPE, ConnectType, SourceColumn, SourceSchema
from common.debezium.topics import SIDE_SUFFIXES, DeltaName, SourceTable, TopicKind, Topics, delta_name, delta_names
from common.debezium.types import column_type
from common.delta.deleted_keys import DELETED_KEYS_TABLE
from common.delta.side_tables import LATE_TABLE, QUARANTINE_TABLE
from common.errors import ConfigurationError
from tests.support.debezium import FOLDER, message, messages, recorded, schema_at

CDC = Topics("cdc")


def avro_row(*fields: dict[str, Any]) -> str:
    """An envelope as the Avro converter registers it: `before` defines the row's type, `after` names it."""
    row = {"type": "record", "name": "Value", "fields": list(fields), "connect.name": "cdc.public.everything.Value"}
    envelope = {
        "type": "record",
        "name": "Envelope",
        "namespace": "cdc.public.everything",
        "fields": [
            {"name": "before", "type": ["null", row], "default": None},
            {"name": "after", "type": ["null", "Value"], "default": None},
            {"name": "op", "type": "string"},
        ],
        "connect.name": "cdc.public.everything.Envelope",
    }
    return json.dumps(envelope)


AVRO_FIELDS: list[dict[str, Any]] = [
    {"name": "id", "type": "long"},
    {
        "name": "amount",
        "type": [
            "null",
            {
                "type": "bytes",
                "scale": 4,
                "precision": 20,
                "connect.version": 1,
                "connect.parameters": {"scale": "4", "connect.decimal.precision": "20"},
                "connect.name": "org.apache.kafka.connect.data.Decimal",
                "logicalType": "decimal",
            },
        ],
        "default": None,
    },
    {
        "name": "any_number",
        "type": [
            "null",
            {
                "type": "record",
                "name": "VariableScaleDecimal",
                "namespace": "io.debezium.data",
                "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
                "connect.version": 1,
                "connect.name": "io.debezium.data.VariableScaleDecimal",
            },
        ],
        "default": None,
    },
    {
        "name": "at_local",
        "type": ["null", {"type": "long", "connect.version": 1, "connect.name": "io.debezium.time.MicroTimestamp"}],
        "default": None,
    },
    {"name": "tags", "type": ["null", {"type": "array", "items": ["null", "string"]}], "default": None},
    {"name": "small", "type": ["null", "int"], "default": None},
]


@pytest.mark.parametrize(
    ("topic", "kind"),
    [
        ("cdc.public.orders", TopicKind.TABLE),
        ("cdc.public.a.b", TopicKind.TABLE),
        ("cdc.transaction", TopicKind.TRANSACTION),
        ("cdc.message", TopicKind.MESSAGE),
        ("cdc", TopicKind.SCHEMA_CHANGES),
        ("__debezium-heartbeat.cdc", TopicKind.HEARTBEAT),
        ("__debezium-heartbeat.cdcs", TopicKind.OTHER),
        ("cdc.public.debezium_signal", TopicKind.SIGNAL),
        ("history", TopicKind.SCHEMA_HISTORY),
        ("cdc-signals", TopicKind.SIGNAL),
        ("cdcs.public.everything", TopicKind.OTHER),
        ("cdc.public", TopicKind.OTHER),
        ("cdc..orders", TopicKind.OTHER),
    ],
)
def test_debezium_13_topics_that_are_no_tables_are_known(topic: str, kind: TopicKind) -> None:
    topics = Topics(
        "cdc",
        signals=frozenset(["public.debezium_signal"]),
        signal_topics=frozenset(["cdc-signals"]),
        schema_history="history",
    )
    assert topics.kind(topic) is kind


def test_debezium_13_a_heartbeat_topic_may_have_a_name_of_its_own() -> None:
    assert Topics("cdc", heartbeat_topic="beats").kind("beats") is TopicKind.HEARTBEAT


def test_debezium_13_every_recorded_topic_is_told_by_its_name() -> None:
    prefixes = ("cdc", "cdcs", "mdb")
    kinds = {topic: {Topics(prefix).kind(topic) for prefix in prefixes} - {TopicKind.OTHER} for topic, _ in recorded()}
    assert all(len(each) == 1 for each in kinds.values())
    assert {topic for topic, each in kinds.items() if each != {TopicKind.TABLE}} == {
        "cdc.transaction",
        "cdcs.transaction",
        "mdb.transaction",
        "cdc.message",
        "mdb",
        "__debezium-heartbeat.cdcs",
    }


def test_debezium_13_messages_that_are_no_events_are_known_by_their_values() -> None:
    kinds = {
        topic: {message_kind(each.payload) for (name, _), each in recorded().items() if name == topic}
        for topic in {topic for topic, _ in recorded()}
    }
    assert kinds.pop("mdb") == {MessageKind.SCHEMA_CHANGE}
    assert kinds.pop("cdc.message") == {MessageKind.LOGICAL_MESSAGE}
    assert kinds.pop("__debezium-heartbeat.cdcs") == {MessageKind.HEARTBEAT}
    assert {kind for topic in list(kinds) if topic.endswith(".transaction") for kind in kinds.pop(topic)} == {
        MessageKind.TRANSACTION
    }
    assert set().union(*kinds.values()) == {MessageKind.EVENT, MessageKind.TOMBSTONE}


def test_debezium_19_partitions_go_to_the_table_that_they_are_a_part_of() -> None:
    topics = Topics("cdc", partition_roots={r"public\.orders_\d{4}": "public.orders"})
    assert topics.table("cdc.public.orders_2026") == SourceTable("public", "orders")
    assert topics.table("cdc.public.orders_old") == SourceTable("public", "orders_old")
    assert topics.table("cdc.transaction") is None


def test_a_topic_becomes_a_folder_and_a_name_by_one_rule() -> None:
    table = CDC.table("cdc.Sales.Order-Items")
    assert table is not None
    assert delta_name(table) == DeltaName("sales/order_items", "sales_order_items")
    assert CDC.topic(SourceTable("public", "größe")) == "cdc.public.gr__e"


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (SourceTable("public", "orders"), SourceTable("public", "Orders"), "folder public/orders"),
        (SourceTable("a", "b_c"), SourceTable("a_b", "c"), "name a_b_c"),
        (SourceTable("public", "orders"), SourceTable("public", "orders_quarantine"), "orders_quarantine"),
    ],
)
def test_tables_that_would_share_a_place_are_refused(one: SourceTable, other: SourceTable, shared: str) -> None:
    with pytest.raises(ConfigurationError, match=shared):
        delta_names([one, other])
    named = delta_names([one, other], {str(other): DeltaName("elsewhere/x", "elsewhere_x")})
    assert len(named) == 2


def test_side_tables_are_those_that_the_tables_really_have() -> None:
    assert {QUARANTINE_TABLE, LATE_TABLE, DELETED_KEYS_TABLE} <= set(SIDE_SUFFIXES)


def test_the_schema_of_a_table_is_read_from_json() -> None:
    schema = schema_at("cdc.public.orders", 6)
    assert schema.names == ("customer", "line", "what", "qty")
    assert schema.keys == ("customer", "line")
    assert schema.columns[3] == SourceColumn("qty", ConnectType("int32"), optional=False, default="7")


def test_equal_texts_of_schemas_are_read_once() -> None:
    line = json.loads((FOLDER / "postgres.jsonl").read_text().splitlines()[0])
    texts = json.dumps(line["value"]["schema"]), json.dumps(line["key"]["schema"])
    assert schema_of_texts(*texts) is schema_of_texts(*texts)
    assert schema_of_texts(*texts) == schema_at("cdc.public.everything", 0)


def test_a_schema_survives_being_written_and_read() -> None:
    for topic in ("cdc.public.everything", "cdc.public.notes", "mdb.shop.everything"):
        schema = schema_at(topic, 0)
        assert SourceSchema.from_json(schema.to_json()) == schema


def test_debezium_29_avro_tells_the_same_schema_as_json() -> None:
    schema = schema_of_avro(
        avro_row(*AVRO_FIELDS), '{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}'
    )
    expected = schema_at("cdc.public.everything", 0)
    assert schema.keys == expected.keys
    assert schema.columns == tuple(expected.column(name) for name in schema.names)


def test_debezium_29_names_that_avro_does_not_allow_are_those_of_the_source() -> None:
    field = {
        "name": "order_no",
        "type": {
            "type": "int",
            "connect.type": "int16",
            "connect.parameters": {SOURCE_NAME: "order-no", SOURCE_TYPE: "SMALLINT"},
        },
    }
    (column,) = schema_of_avro(avro_row(field)).columns
    assert (column.name, column.field, column.type.kind, column.source_type) == (
        "order-no",
        "order_no",
        "int16",
        "SMALLINT",
    )
    assert column_type(column).delta == "smallint"


def test_debezium_29_a_map_with_other_keys_than_texts_is_an_array_of_entries() -> None:
    entry = {
        "type": "record",
        "name": "MapEntry",
        "namespace": "io.confluent.connect.avro",
        "fields": [
            {"name": "key", "type": {"type": "int", "connect.type": "int16"}},
            {"name": "value", "type": "double"},
        ],
    }
    (column,) = schema_of_avro(avro_row({"name": "sparse", "type": {"type": "array", "items": entry}})).columns
    assert column_type(column).delta == "map<smallint,double>"


def test_debezium_29_avro_keeps_connects_default() -> None:
    field = {"name": "qty", "type": ["null", {"type": "int", "connect.default": 7}], "default": None}
    (column,) = schema_of_avro(avro_row(field)).columns
    assert (column.default, column.optional) == ("7", True)


def test_debezium_28_a_schemaless_message_has_no_schema_to_infer() -> None:
    assert payload_of({"before": None, "after": {"id": 1}}) == {"before": None, "after": {"id": 1}}
    with pytest.raises(Rejected) as caught:
        source_schema({"type": "struct", "fields": []})
    assert caught.value.reason is Reason.NOT_AN_ENVELOPE


@pytest.mark.parametrize(
    "payload",
    [{"id": 1, "__deleted": "false"}, {"id": 1, "__op": "u", "__lsn": 5}],
)
def test_debezium_31_a_flattened_event_is_refused_by_name(payload: dict[str, Any]) -> None:
    with pytest.raises(Rejected, match="ExtractNewRecordState") as caught:
        message_kind(payload)
    assert caught.value.reason is Reason.FLATTENED_EVENT


@pytest.mark.parametrize("payload", [{"id": 1}, [], "text", 5, {}])
def test_debezium_31_what_is_no_envelope_is_refused(payload: Any) -> None:
    with pytest.raises(Rejected) as caught:
        message_kind(payload)
    assert caught.value.reason is Reason.NOT_AN_ENVELOPE


def test_every_recorded_operation_is_read() -> None:
    events = [each for each in recorded().values() if message_kind(each.payload) is MessageKind.EVENT]
    assert {each.event.operation for each in events} == set(Operation) - {Operation.MESSAGE}


def test_an_operation_that_nobody_knows_is_turned_away() -> None:
    payload = {**message("cdc.public.orders", 2).payload, "op": "x"}
    with pytest.raises(Rejected) as caught:
        read_event(payload)
    assert caught.value.reason is Reason.UNKNOWN_OPERATION


def test_debezium_08_a_snapshot_marker_of_null_is_false() -> None:
    payload = message("cdc.public.orders", 2).payload
    assert read_event({**payload, "source": {**payload["source"], "snapshot": None}}).snapshot is Snapshot.FALSE


def test_debezium_11_every_snapshot_marker_is_known_and_others_are_turned_away() -> None:
    allowed = "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"
    assert {snapshot_of(text) for text in allowed.split(",")} == set(Snapshot)
    assert snapshot_of("FIRST") is Snapshot.FIRST
    with pytest.raises(Rejected) as caught:
        snapshot_of("blocking")
    assert caught.value.reason is Reason.UNKNOWN_SNAPSHOT


def test_debezium_09_reads_of_one_snapshot_share_its_id_and_the_last_of_a_table_is_marked() -> None:
    reads = [each.event for each in recorded().values() if each.topic.startswith("cdc.public") and is_read(each)]
    assert len({snapshot_id(event) for event in reads}) == 1
    others = [each.event for each in recorded().values() if each.topic.startswith("cdcs.public") and is_read(each)]
    assert {snapshot_id(event) for event in others}.isdisjoint({snapshot_id(event) for event in reads})
    ends = [each.topic for each in recorded().values() if is_read(each) and ends_table(each.event)]
    assert sorted(ends) == sorted(
        [
            "cdc.public.everything",
            "cdc.public.customers",
            "cdc.public.notes",
            "cdc.public.orders",
            "cdcs.public.everything",
            "mdb.shop.everything",
            "mdb.shop.orders",
        ]
    )


def test_debezium_09_incremental_reads_never_tell_what_is_gone() -> None:
    payload = message("cdc.public.orders", 1).payload
    event = read_event({**payload, "source": {**payload["source"], "snapshot": "incremental"}})
    assert snapshot_id(event) is None
    assert not ends_table(event)


def is_read(each: Any) -> bool:
    return message_kind(each.payload) is MessageKind.EVENT and each.event.is_read


def test_debezium_03_messages_of_a_transaction_are_joined_by_the_part_before_the_colon() -> None:
    assert transaction_of("postgresql", "778:26622960") == transaction_of("postgresql", "778:26623432") == "778"
    gtid = "3e11fa47-71ca-11e1-9e33-c80aa9429562:23"
    assert transaction_of("mysql", gtid) == gtid
    assert transaction_of("mariadb", "0-1-39") == "0-1-39"


@pytest.mark.parametrize(("prefix", "end"), [("cdc", ("cdc.transaction", 29)), ("mdb", ("mdb.transaction", 11))])
def test_debezium_04_the_counts_of_a_transaction_are_its_rows_without_tombstones(prefix: str, end: Any) -> None:
    block = message(*end).payload
    connector = "postgresql" if prefix == "cdc" else "mariadb"
    transaction = transaction_of(connector, block["id"])
    events = [
        each.event
        for each in recorded().values()
        if Topics(prefix).kind(each.topic) is TopicKind.TABLE and message_kind(each.payload) is MessageKind.EVENT
    ]
    rows = [event for event in events if event.transaction == transaction]
    assert len(rows) == block["event_count"]
    assert sorted(event.total_order or 0 for event in rows) == list(range(1, len(rows) + 1))


def test_debezium_27_a_key_of_other_columns_than_declared_is_turned_away() -> None:
    refuse_other_keys(["line", "customer"], ["customer", "line"])
    with pytest.raises(Rejected, match="customer, and the pipeline declares customer, line") as caught:
        refuse_other_keys(["customer"], ["customer", "line"])
    assert caught.value.reason is Reason.KEY_MISMATCH


def test_debezium_14_headers_of_a_key_change_are_read() -> None:
    deleted, created = message("cdc.public.everything", 9), message("cdc.public.everything", 11)
    assert header_key(deleted.headers, "__debezium.newkey") == created.key == {"id": 30}
    assert header_key(created.headers, "__debezium.oldkey") == deleted.key == {"id": 3}
    assert header_key(message("cdc.public.everything", 3).headers, "__debezium.oldkey") is None
    assert header_key([("__debezium.oldkey", '{"name":"two\nlines"}')], "__debezium.oldkey") == {"name": "two\nlines"}
    assert header_key([("__debezium.oldkey", "Struct{id=3}")], "__debezium.oldkey") is None


def test_the_recording_has_what_its_readme_says() -> None:
    assert len(messages("cdc.public.everything")) == 14
    assert len(messages("mdb.shop.orders")) == 11
