"""A few records by the driver's own consumer: the same rows as Spark's, or none, and then Spark reads them."""

from types import SimpleNamespace

import pytest
from chispa import assert_df_equality
from confluent_kafka import KafkaError
from pyspark.sql import SparkSession
from structlog.testing import capture_logs

from common.engine import source
from common.errors import StateError
from common.kafka import consumer as fetch
from common.kafka.topic import TopicClient
from common.model.limits import DEFAULT_LIMITS, Limits
from common.model.offsets import Plan
from common.spark.fetched import fetched_dataframe
from common.spark.source import as_records, read_range
from tests.support.broker import Broker
from tests.support.partitions import of_t, of_topic
from tests.support.trial import Trial, event

BASE = {(1, "a", 1.0), (2, "a", 2.0)}
NOT_FETCHED = "Spark reads this batch, it could not be fetched"


def planned(topic: TopicClient) -> Plan:
    available = topic.available()
    return Plan(available.earliest, available.ends)


def assert_same_rows(spark: SparkSession, topic: TopicClient, plan: Plan) -> int:
    rows = fetched_dataframe(spark, topic, plan, DEFAULT_LIMITS)
    assert rows is not None
    assert_df_equality(as_records(rows), as_records(read_range(spark, topic, plan)), ignore_row_order=True)
    return rows.count()


def test_the_rows_are_those_that_spark_reads(spark: SparkSession, broker: Broker, topic: str) -> None:
    records = [(b"k", b"v"), (None, b"no key"), (b"no value", None), (b"", b""), ("ключ".encode(), b"\x00\xff")]
    for partition in (0, 2):
        broker.produce(topic, records, partition=partition)
    source = TopicClient(broker.address, topic)
    assert assert_same_rows(spark, source, planned(source)) == 10
    # Again, by the same consumer, and only a part: it begins and ends where it is told to.
    assert (
        assert_same_rows(spark, source, Plan(of_topic(topic, {0: 1, 1: 0, 2: 3}), of_topic(topic, {0: 4, 1: 0, 2: 4})))
        == 4
    )


@pytest.mark.parametrize("ends", ["cac", "ca", "a"])
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_21_22_what_has_gaps_is_read_by_spark_and_the_gaps_are_confirmed_by_another_client(
    trial: Trial, mode: str, ends: str
) -> None:
    """Each transaction leaves a marker, and one that is aborted its record besides."""
    trial.broker.produce_in_transactions(trial.topic, [event(number, "b", 0.0) for number in range(len(ends))], ends)
    with capture_logs() as logs:
        assert trial.run(mode).offsets[trial.partition(0)] == 2 * len(ends)
    assert [line["reason"] for line in logs if line["event"] == NOT_FETCHED] == [
        f"partition 0 of '{trial.topic}' has no offset {int(ends[0] == 'c')}"
    ]
    (settled,) = (line for line in logs if line["event"] == "settled")
    assert (settled["rows"], settled["gaps"]) == (ends.count("c"), 2 * len(ends) - ends.count("c"))
    assert trial.rows() == BASE | {(number, "b", 0.0) for number, letter in enumerate(ends) if letter == "c"}


def test_compressed_records_are_fetched(spark: SparkSession, broker: Broker, topic: str) -> None:
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        broker.produce(topic, [(b"k", b"v" * 1000)] * 3, partition=0, config={"compression.type": codec})
    source = TopicClient(broker.address, topic)
    assert assert_same_rows(spark, source, planned(source)) == 12


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_29_what_is_too_large_for_the_driver_is_read_by_spark(trial: Trial, mode: str) -> None:
    trial.limits = Limits(fetched_bytes=100)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), event(4, "b", 4.0)], partition=0)
    with capture_logs() as logs:
        assert trial.run(mode).offsets[trial.partition(0)] == 2
    assert [line["reason"] for line in logs if line["event"] == NOT_FETCHED] == ["more than 100 bytes"]
    assert trial.rows() == BASE | {(3, "b", 3.0), (4, "b", 4.0)}


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_few_are_fetched_and_many_are_not(trial: Trial, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = []
    trial.limits = Limits(fetched_records=2)
    monkeypatch.setattr(
        source, "fetched_dataframe", lambda *given: fetched.append(given[2].records) or fetched_dataframe(*given)
    )
    for first, count in ((10, 2), (20, 3)):
        trial.broker.produce(trial.topic, [event(first + each, "b", 0.0) for each in range(count)], partition=0)
        trial.run(mode)
    assert fetched == [2]
    assert trial.rows() == BASE | {(number, "b", 0.0) for number in (10, 11, 20, 21, 22)}


def test_04_what_is_gone_is_no_fetch_and_spark_has_the_error(trial: Trial, broker: Broker) -> None:
    """Retention was faster than the batch that had planned these offsets."""
    broker.produce(trial.topic, [event(number, "b", 0.0) for number in range(5)], partition=0)
    loop = trial.driver("batch")
    broker.delete_records(trial.topic, 0, before=3)
    with capture_logs() as logs, pytest.raises(StateError, match=r"offset 0 is wanted, 3 is the earliest left"):
        loop.drain()
    assert [line["event"] for line in logs].count(NOT_FETCHED) == 1
    assert trial.rows() == BASE


def test_records_behind_the_plan_do_not_keep_a_fetch_alive() -> None:
    """Of one partition they come for ever; the leader of the other one is away."""
    limits = Limits(fetch_seconds=0.05)
    behind = SimpleNamespace(topic=lambda: "t", partition=lambda: 0, offset=lambda: 7, error=lambda: None)
    consumer = SimpleNamespace(assign=lambda _: None, unassign=lambda: None, poll=lambda _: behind)
    assert fetch.Fetcher(lambda: consumer).fetch(Plan(of_t({0: 7, 1: 0}), of_t({0: 7, 1: 1})), limits) is None  # type: ignore[arg-type,return-value]


def test_a_group_that_is_refused_is_not_asked_for_again() -> None:
    made, closed = [], []
    refusal = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    message = SimpleNamespace(partition=lambda: 0, offset=lambda: 0, error=lambda: refusal)

    def new_consumer() -> SimpleNamespace:
        made.append(1)
        return SimpleNamespace(
            assign=lambda _: None, unassign=lambda: None, poll=lambda _: message, close=lambda: closed.append(1)
        )

    fetcher = fetch.Fetcher(new_consumer)  # type: ignore[arg-type]
    assert fetcher.fetch(Plan(of_t({0: 0}), of_t({0: 1})), DEFAULT_LIMITS) is None
    assert fetcher.fetch(Plan(of_t({0: 0}), of_t({0: 1})), DEFAULT_LIMITS) is None
    assert (made, closed) == ([1], [1])


def test_delta_still_writes_its_checksums(trial: Trial) -> None:
    """conf names the class that renames them; where Spark has none of that name, Delta would only warn."""
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.run("batch")
    assert trial.table.local is not None
    assert (trial.table.local / "_delta_log" / f"{trial.version():020d}.crc").exists()


def test_36_a_broker_that_is_slow_is_left_to_spark(trial: Trial) -> None:
    trial.limits = Limits(fetch_seconds=0.0)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    with capture_logs() as logs:
        trial.run("batch")
    assert [line["reason"] for line in logs if line["event"] == NOT_FETCHED] == ["not all of it came within 0 s"]
    assert trial.rows() == BASE | {(3, "b", 3.0)}
