"""Which of two events of a key is newer: recorded events, and a source that is read, interrupted and replaced."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.debezium.batch_order import batch_barriers, newest_indices
from common.debezium.envelope import MessageKind, Operation, message_kind, read_event
from common.debezium.order import (
    ORDER_FIELDS,
    Comparison,
    Order,
    compare,
    is_newer,
    newest,
    placed,
    rank,
    settled,
    with_barriers,
)
from common.debezium.positions import looks_reset, order_of, source_position
from tests.support.debezium import message, recorded

TOPIC = "cdc.public.orders"


def streamed(offset: int, commit: int, row: int = 0, domain: str = "postgresql", partition: int = 0) -> Order:
    return Order(TOPIC, partition, offset, domain, commit, row)


def read(offset: int, partition: int = 0) -> Order:
    return placed(Order(TOPIC, partition, offset))


def settle(row: Order | None, event: Order) -> Order:
    """Apply one event, or the newest of a batch, to a row."""
    event = placed(event)
    if row is None or compare(event, row) is Comparison.NEWER:
        return settled(event, row)
    return row


def settle_batches(log: Sequence[Order], cuts: Sequence[int]) -> Order:
    row: Order | None = None
    bounds = [0, *sorted(set(cuts)), len(log)]
    for start, end in pairwise(bounds):
        if log[start:end]:
            row = settle(row, newest(log[start:end]))
    assert row is not None
    return row


def pg(payload: dict[str, Any], **source: Any) -> dict[str, Any]:
    return {**payload, "source": {**payload["source"], **source}}


# An event of one key: a read, or a change with its sequence of one of two domains.
EVENT = st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 3))
EVENTS = st.lists(st.none() | EVENT, min_size=1, max_size=12)


def log_of(events: Sequence[tuple[str, int, int] | None]) -> list[Order]:
    return [
        read(offset) if event is None else streamed(offset, event[1], event[2], event[0])
        for offset, event in enumerate(events)
    ]


@given(EVENTS)
def test_debezium_01_events_of_a_key_are_in_one_total_order(events: list[tuple[str, int, int] | None]) -> None:
    log = with_barriers(log_of(events))
    assert len({rank(event) for event in log}) == len(log)
    for one in log:
        for other in log:
            if one is not other:
                assert (compare(one, other) is Comparison.NEWER) == (rank(one) > rank(other))
                assert (compare(one, other) is Comparison.NEWER) != (compare(other, one) is Comparison.NEWER)


@given(EVENTS)
def test_debezium_01_the_rule_between_barriers_is_the_sequence_and_else_the_position(events: Any) -> None:
    log = with_barriers(log_of(events))
    for earlier, later in pairwise(log):
        by_sequence = not earlier.is_barrier and not later.is_barrier and earlier.domain == later.domain
        expected = later.sequence > earlier.sequence if by_sequence else True
        assert (compare(later, earlier) is Comparison.NEWER) == expected


@given(EVENTS, st.lists(st.integers(0, 12), max_size=4))
def test_batches_do_not_change_which_event_stays(events: Any, cuts: list[int]) -> None:
    log = log_of(events)
    one_by_one = settle_batches(log, range(len(log)))
    assert settle_batches(log, cuts).offset == one_by_one.offset


@given(st.lists(st.tuples(st.integers(0, 2), st.none() | EVENT), max_size=20), st.randoms())
def test_a_whole_batch_is_ordered_as_each_of_its_keys(drawn: Any, chance: random.Random) -> None:
    events = [(key, order) for (key, _), order in zip(drawn, log_of([event for _, event in drawn]), strict=True)]
    chance.shuffle(events)
    groups, offsets = pa.array([key for key, _ in events], pa.int64()), column_of(events, "offset", pa.int64())
    barriers = batch_barriers(groups, offsets, column_of(events, "domain", pa.string()))
    positions = [column_of(events, name, pa.int64()) for name in ("commit_position", "row_position")]
    got = {events[index][1].offset for index in newest_indices(groups, barriers, *positions, offsets).to_pylist()}
    by_key = [[order for key, order in events if key == each] for each in range(3)]
    assert got == {newest(orders).offset for orders in by_key if orders}
    expected = {order.offset: order.barrier for orders in by_key for order in with_barriers(orders)}
    assert dict(zip(offsets.to_pylist(), barriers.to_pylist(), strict=True)) == expected


def column_of(events: Sequence[tuple[int, Order]], name: str, kind: pa.DataType) -> pa.Array:
    return pa.array([getattr(order, name) for _, order in events], kind)


def test_debezium_01_recorded_changes_are_newer_than_what_stands_before_them() -> None:
    topics = {topic for topic, _ in recorded() if topic.startswith(("cdc.public", "cdcs.public", "mdb.shop"))}
    for topic in topics:
        orders = [
            each.order
            for (name, _), each in sorted(recorded().items())
            if name == topic and message_kind(each.payload) is MessageKind.EVENT
        ]
        assert with_barriers(orders) == sorted(with_barriers(orders), key=rank)


def test_debezium_01_the_first_transaction_has_no_last_commit_and_goes_by_its_position() -> None:
    first = message("cdc.public.everything", 2)
    assert first.event.source["sequence"] == '[null,"26608704"]'
    assert first.order.is_barrier
    second = message("cdc.public.everything", 3)
    assert (second.order.commit_position, second.order.row_position) == (26609160, 26609216)


def test_debezium_01_a_transaction_open_across_a_snapshot_wins_although_its_lsn_is_smaller() -> None:
    snapshot = message("cdc.public.orders", 0)
    lsn = snapshot.event.source["lsn"]
    payload = message("cdc.public.orders", 3).payload
    late = read_event(pg(payload, lsn=lsn - 500, sequence=f'[null,"{lsn - 500}"]'))
    later = read_event(pg(payload, lsn=lsn - 400, sequence=f'["{lsn + 900}","{lsn - 400}"]'))
    row = settle(None, snapshot.order)
    for number, event in enumerate((late, later), 1):
        order = order_of(event, TOPIC, 0, number)
        assert replace(snapshot.order, topic=TOPIC).offset < order.offset
        row = settle(replace(row, topic=TOPIC), order)
        assert row.offset == number


@pytest.mark.parametrize("marker", ["incremental", "first", "true", "last"])
def test_debezium_12_a_read_of_any_snapshot_goes_by_its_position(marker: str) -> None:
    payload = message("cdc.public.orders", 1).payload
    event = read_event(pg(payload, snapshot=marker, sequence='["30000000","30000001"]', lsn=30000001))
    order = order_of(event, TOPIC, 0, 7)
    assert (order.is_barrier, order.barrier) == (True, 7)
    assert compare(order, streamed(6, 40000000)) is Comparison.NEWER
    assert compare(streamed(8, 20000000), order) is Comparison.NEWER


def test_debezium_02_the_commit_of_the_transaction_itself_is_preferred_and_never_mixed() -> None:
    payload = message("cdc.public.orders", 3).payload
    event = read_event(pg(payload, commit_lsn=26623432))
    assert source_position(event) == ("postgresql commit", 26623432, 26623232)
    old, new = order_of(read_event(payload), TOPIC, 0, 3), order_of(event, TOPIC, 0, 4)
    assert compare(new, old) is Comparison.NEWER
    # Back to a version that tells the last commit: its number is smaller, and its position decides.
    assert compare(replace(old, offset=5), new) is Comparison.NEWER


@pytest.mark.parametrize("sequence", [None, "", "[]", '["x","1"]', '["1"]', "nonsense", '{"a": 1}'])
def test_debezium_02_a_sequence_that_cannot_be_read_leaves_the_position(sequence: str | None) -> None:
    event = read_event(pg(message("cdc.public.orders", 3).payload, sequence=sequence))
    assert order_of(event, TOPIC, 0, 3).is_barrier


def test_debezium_32_rows_of_one_wal_record_are_told_apart_by_their_offsets() -> None:
    deleted, created = message("cdc.public.customers", 4), message("cdc.public.customers", 6)
    assert source_position(deleted.event) == source_position(created.event)
    assert compare(created.order, deleted.order) is Comparison.NEWER


def test_lsns_of_other_keys_mean_nothing() -> None:
    """A transaction that began early and commits late has small LSNs: no mark over all keys may drop it."""
    late_key = [streamed(0, 100, 50), streamed(3, 300, 60)]
    assert newest(late_key).offset == 3
    assert compare(late_key[1], late_key[0]) is Comparison.NEWER


def test_a_late_update_does_not_follow_a_delete() -> None:
    delete, update = streamed(5, 200, 210), streamed(6, 100, 110)
    assert compare(update, delete) is Comparison.OLDER


def test_the_same_record_again_is_the_same() -> None:
    assert compare(streamed(5, 200), streamed(5, 200)) is Comparison.SAME


def test_two_partitions_are_compared_by_sequences_only() -> None:
    assert compare(streamed(1, 200, partition=1), streamed(9, 100)) is Comparison.NEWER
    assert compare(streamed(9, 100, partition=1), streamed(1, 200)) is Comparison.OLDER
    assert compare(read(9, partition=1), streamed(1, 100)) is Comparison.UNKNOWN
    assert compare(streamed(9, 100, partition=1), read(1)) is Comparison.UNKNOWN
    assert compare(streamed(9, 100, partition=1), streamed(1, 100)) is Comparison.UNKNOWN


def test_an_event_from_quarantine_does_not_pass_a_barrier() -> None:
    """The database was replaced: its LSNs are smaller, and an old event with a greater one comes late."""
    row = settle_batches([streamed(1, 900), read(2), streamed(3, 5)], [1, 2])
    assert (row.offset, row.barrier) == (3, 2)
    assert compare(streamed(0, 950), row) is Comparison.OLDER


def test_debezium_34_mariadb_goes_by_the_gtid_of_its_domain() -> None:
    insert, update = message("mdb.shop.everything", 2), message("mdb.shop.everything", 4)
    assert source_position(insert.event) == ("mariadb domain 0", 34, 0)
    assert compare(update.order, insert.order) is Comparison.NEWER
    other = read_event(pg(update.payload, gtid="1-1-2"))
    assert source_position(other) == ("mariadb domain 1", 2, 0)
    # Another server of the domain goes on with its numbers.
    assert source_position(read_event(pg(update.payload, gtid="0-2-40", file="other.000001"))) == (
        "mariadb domain 0",
        40,
        0,
    )


def test_debezium_34_snapshot_reads_of_mariadb_have_no_position() -> None:
    read_message = message("mdb.shop.everything", 0)
    assert read_message.event.source["server_id"] == 0
    assert read_message.order.is_barrier


def test_debezium_34_rows_of_one_transaction_of_mariadb_go_by_their_offsets() -> None:
    first, last = message("mdb.shop.orders", 2).event, message("mdb.shop.orders", 3).event
    assert source_position(first) == source_position(last)
    assert is_newer(message("mdb.shop.orders", 3).order, message("mdb.shop.orders", 2).order)


MYSQL = {"connector": "mysql", "server_id": 223344, "file": "mysql-bin.000003", "pos": 484, "row": 0, "gtid": None}
UUID = "3E11FA47-71CA-11E1-9E33-C80AA9429562"


def mysql(offset: int, **source: Any) -> Order:
    payload = {"op": "u", "before": None, "after": {}, "source": {**MYSQL, **source}}
    return order_of(read_event(payload), "my.inventory.customers", 0, offset)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"file": "mysql-bin.000003", "pos": 900}, {"file": "mysql-bin.000004", "pos": 4}),
        ({"file": "mysql-bin.999999"}, {"file": "mysql-bin.1000000"}),
        ({"pos": 484}, {"pos": 485}),
        ({"row": 1}, {"row": 2}),
        ({"pos": 2**32 - 1, "row": 2**31 - 1}, {"file": "mysql-bin.000004", "pos": 0}),
        ({"gtid": f"{UUID}:9"}, {"gtid": f"{UUID}:10", "pos": 4}),
    ],
)
def test_debezium_34_mysql_goes_by_file_place_and_row_of_a_server(earlier: Any, later: Any) -> None:
    assert compare(mysql(2, **later), mysql(1, **earlier)) is Comparison.NEWER
    # Sent again, the earlier one stays the older one.
    assert compare(mysql(3, **earlier), mysql(2, **later)) is Comparison.OLDER


@pytest.mark.parametrize(
    "other",
    [
        {"server_id": 5, "pos": 4},
        {"file": "replica-bin.000001"},
        {"gtid": "4E11FA47-71CA-11E1-9E33-C80AA9429562:1"},
        {"gtid": f"{UUID}:nightly:1"},
    ],
)
def test_debezium_34_positions_of_two_servers_are_not_comparable_and_go_by_offset(other: Any) -> None:
    known = {"gtid": f"{UUID}:900"} if "gtid" in other else {}
    one, two = mysql(1, **known), mysql(2, **other)
    assert one.domain != two.domain
    assert compare(two, one) is Comparison.NEWER
    assert compare(replace(one, offset=3), two) is Comparison.NEWER


def test_a_connector_that_nobody_knows_goes_by_the_position() -> None:
    event = read_event({"op": "c", "after": {}, "source": {"connector": "oracle", "scn": "5"}})
    assert order_of(event, TOPIC, 0, 1).is_barrier


def test_a_position_that_shrinks_while_time_goes_on_is_another_database() -> None:
    old, new = message("cdc.public.orders", 3).payload, message("cdc.public.orders", 4).payload
    hour = 3_600_000
    restored = read_event(pg(new, lsn=17, sequence='["16","17"]', ts_ms=new["source"]["ts_ms"] + hour))
    again = read_event(pg(new, lsn=17, sequence='["16","17"]', ts_ms=new["source"]["ts_ms"] - hour))
    assert looks_reset(restored, read_event(old))
    assert not looks_reset(again, read_event(old))
    assert not looks_reset(read_event(new), read_event(old))


def test_the_order_of_a_row_has_the_columns_that_are_stored() -> None:
    assert all(hasattr(streamed(0, 1), name) for name in ORDER_FIELDS)


class Source:
    """One row of a database, changed by transactions that overlap, and the log that a connector writes of it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.commits = 100
        self.written: list[tuple[int, int]] = []
        self.log: list[Order] = []
        # The number of the change that each record of the log holds.
        self.states: list[int] = []
        for _ in range(12):
            last = self.commits
            self.commits += self.random.randint(5, 50)
            # A transaction that began before earlier ones were committed has smaller LSNs.
            self.written.append((last, self.random.randint(1, self.commits)))

    def send(self, number: int) -> None:
        commit, lsn = self.written[number]
        self.log.append(streamed(len(self.log), commit, lsn))
        self.states.append(number)

    def snapshot(self, at: int) -> None:
        """Read the row: its state is that of any change that has been made, sent or not."""
        self.log.append(read(len(self.log)))
        self.states.append(self.random.randint(at, len(self.written) - 1))

    def run(self) -> None:
        position = 0
        while position < len(self.written):
            if self.random.random() < 0.2 and position:
                position = self.random.randint(0, position)  # a crash: what was not confirmed is sent again
            if self.random.random() < 0.2:
                self.snapshot(max(position - 1, 0))
            self.send(position)
            position += 1


@pytest.mark.parametrize("seed", range(200))
def test_debezium_01_a_row_ends_as_the_source_has_it(seed: int) -> None:
    source = Source(seed)
    source.run()
    for cuts in ([], range(len(source.log)), source.random.sample(range(len(source.log)), 4)):
        row = settle_batches(source.log, list(cuts))
        assert source.states[row.offset] == len(source.written) - 1


@pytest.mark.parametrize("seed", range(50))
def test_debezium_30_events_that_are_sent_again_never_take_a_row_back(seed: int) -> None:
    source = Source(seed)
    position = 0
    while position < len(source.written):
        source.send(position)
        position = source.random.randint(0, position) if source.random.random() < 0.3 else position + 1
    row: Order | None = None
    seen = []
    for event in source.log:
        row = settle(row, event)
        seen.append(source.states[row.offset])
    assert seen == sorted(seen)
    assert seen[-1] == len(source.written) - 1


def test_a_truncate_has_its_place_too() -> None:
    truncate = message("cdc.public.orders", 10)
    assert truncate.event.operation is Operation.TRUNCATE
    assert truncate.order.commit_position == 26643568
