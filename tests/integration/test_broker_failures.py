"""Row 36: a broker that dies, sleeps or was never there. Every wait has an end, and the next run goes on."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from common.drivers import run as drivers
from common.drivers.batch_loop import BatchLoop
from common.drivers.stream import Stream, Trigger
from common.engine import batch
from common.errors import BrokerUnreachable
from common.kafka.topic import TopicClient
from common.model.limits import Limits
from common.spark import source as reading
from kafka_docker.embedded.kafka import Kafka
from kafka_docker.embedded.ports import free_port
from tests.support.broker import Broker
from tests.support.partitions import numbered
from tests.support.trial import Trial, event, pipeline

BASE = {(1, "a", 1.0), (2, "a", 2.0)}


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    service = Kafka(home=tmp_path_factory.mktemp("mortal"), port=free_port())
    yield service
    service.stop()


@pytest.fixture
def kafka(own_kafka: Kafka) -> Kafka:
    """Awake and running, whatever the test before did to it."""
    own_kafka.resume()
    own_kafka.start()
    return own_kafka


@pytest.fixture
def broker(kafka: Kafka) -> Broker:
    return Broker(kafka.address)


@pytest.fixture
def impatient(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> Trial:
    """Three records, one a batch, the second a bad one; and bounds that a test can wait for."""
    trial.pipeline = pipeline(trial.topic, max_records=1)
    trial.patience_seconds = 3.0
    monkeypatch.setattr(reading, "WAIT_SECONDS", 3.0)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json"), event(4, "b", 4.0)], partition=0)
    return trial


def hooked(real: Callable[..., Any], before: Callable[[int], None], after: Callable[[int], None]) -> Callable[..., Any]:
    """The real function, with what happens to the broker before and after each call, the first being 1."""
    count = iter(range(1, 100))

    def wrapped(*arguments: Any, **named: Any) -> Any:
        number = next(count)
        before(number)
        result = real(*arguments, **named)
        after(number)
        return result

    return wrapped


def nothing(_: int) -> None:
    pass


def follow(trial: Trial, mode: str) -> None:
    """As a job that goes on until something ends it."""
    if mode == "stream":
        Stream(trial.spark, trial.start()).follow(Trigger("100 milliseconds"))
    else:
        BatchLoop(trial.spark, trial.start()).drain()


def test_36_a_closed_port_is_said_within_the_bound() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(BrokerUnreachable, match=f"no Kafka broker answers at {address}") as caught:
        TopicClient(address, "t", timeout_seconds=1).describe()
    assert caught.value.exit_code == 75


def test_36_partitions_whose_leader_is_on_its_way_are_asked_again(broker: Broker) -> None:
    """Every new topic has such a moment, and most of these are asked within it."""
    for _ in range(10):
        topic = TopicClient(broker.address, broker.create_topic(partitions=6))
        assert numbered(topic.available().ends) == dict.fromkeys(range(6), 0)


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_36_a_broker_killed_between_two_batches(
    impatient: Trial, kafka: Kafka, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    trial = impatient
    with monkeypatch.context() as patched:
        patched.setattr(drivers, "run_batch", hooked(drivers.run_batch, nothing, lambda _: kafka.kill()))
        with pytest.raises(BrokerUnreachable) as caught:
            follow(trial, mode)
    assert caught.value.exit_code == 75
    assert not kafka.running
    assert trial.position().seq == 1
    assert trial.rows() == BASE | {(3, "b", 3.0)}
    assert trial.quarantined() == []
    kafka.start()
    assert trial.run(mode).seq == 3
    assert trial.rows() == BASE | {(3, "b", 3.0), (4, "b", 4.0)}
    assert len(trial.quarantined()) == 1


def test_36_a_broker_killed_in_the_midst_of_a_batch(
    impatient: Trial, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows are read and nothing is written: without the broker nobody can say that they are all."""
    trial = impatient
    with monkeypatch.context() as patched:
        patched.setattr(batch, "validate_batch", hooked(batch.validate_batch, nothing, lambda _: kafka.kill()))
        with pytest.raises(BrokerUnreachable):
            follow(trial, "batch")
    assert not kafka.running
    assert trial.version() == 0
    kafka.start()
    assert trial.run("stream").seq == 3
    assert trial.rows() == BASE | {(3, "b", 3.0), (4, "b", 4.0)}


@pytest.mark.parametrize("mode", ["batch", pytest.param("stream", marks=pytest.mark.long)])
def test_36_a_broker_that_sleeps_is_waited_for(
    impatient: Trial, kafka: Kafka, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    trial, asleep = impatient, []
    trial.limits = Limits(fetched_records=0)  # The driver's consumer would have read before it sleeps.
    monkeypatch.setattr(reading, "WAIT_SECONDS", 30.0)
    trial.patience_seconds = 30.0

    def sleep_once(number: int) -> None:
        if number == 2:
            kafka.pause()
            asleep.append(not kafka.answers())
            threading.Timer(2, kafka.resume).start()

    monkeypatch.setattr(drivers, "run_batch", hooked(drivers.run_batch, sleep_once, nothing))
    assert trial.run(mode).seq == 3
    assert asleep == [True]
    assert trial.rows() == BASE | {(3, "b", 3.0), (4, "b", 4.0)}
    assert len(trial.quarantined()) == 1


@pytest.mark.long
def test_36_a_broker_that_sleeps_too_long_is_given_up(
    impatient: Trial, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = impatient
    trial.limits = Limits(fetched_records=0)

    def sleep_at_second(number: int) -> None:
        if number == 2:
            kafka.pause()

    with monkeypatch.context() as patched:
        patched.setattr(drivers, "run_batch", hooked(drivers.run_batch, sleep_at_second, nothing))
        with pytest.raises(BrokerUnreachable):
            follow(trial, "stream")
    assert trial.position().seq == 1
    assert trial.quarantined() == []
    kafka.resume()
    assert trial.run("batch").seq == 3
    assert trial.rows() == BASE | {(3, "b", 3.0), (4, "b", 4.0)}
