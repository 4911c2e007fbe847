"""Handing over, pacing and reporting, with a sender and a clock that do what the test says."""

import io

import pytest
from confluent_kafka import KafkaError, KafkaException

from common.errors import AlluviumError, UsageError
from common.produce.delivery import Delivery
from common.produce.pace import Pace
from common.produce.progress import progress
from common.produce.records import Record

RECORDS = [Record(b"a", b"1"), Record(b"b", b"2"), Record(b"c", b"3")]


class ScriptedSender:
    """Holds records until they are polled or flushed; `room` and `failing` are the script."""

    def __init__(self, *, room=10, failing=frozenset(), silent=False):
        self.room = room
        self.failing = failing
        self.silent = silent
        self.waiting = []
        self.sent = []

    def produce(self, topic, *, key, value, on_delivery):
        if len(self.waiting) >= self.room:
            raise BufferError
        self.sent.append((topic, key, value))
        self.waiting.append((key, on_delivery))

    def poll(self, timeout):
        return self.flush(timeout) if timeout > 0 else 0

    def flush(self, _timeout):
        if not self.silent:
            for key, on_delivery in self.waiting:
                on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT) if key in self.failing else None, None)
            self.waiting.clear()
        return len(self.waiting)


def no_report(_):
    pass


def send(sender, records=RECORDS):
    return Delivery(sender, "temperatures").send(records, Pace(None, sender.poll), no_report)


def test_all_records_go_to_the_topic_in_order():
    sender = ScriptedSender()
    assert send(sender) == 3
    assert sender.sent == [("temperatures", b"a", b"1"), ("temperatures", b"b", b"2"), ("temperatures", b"c", b"3")]


def test_a_full_queue_is_waited_for():
    sender = ScriptedSender(room=1)
    assert send(sender) == 3
    assert len(sender.sent) == 3


def test_failures_are_counted_and_the_first_reason_given():
    with pytest.raises(AlluviumError) as failed:
        send(ScriptedSender(failing={b"b", b"c"}))
    assert failed.value.exit_code == 1
    assert failed.value.message == "2 of 3 records to temperatures are not confirmed (Local: Message timed out)"


def test_nothing_is_handed_over_after_a_failure():
    sender = ScriptedSender(room=1, failing={b"a"})
    with pytest.raises(AlluviumError) as failed:
        send(sender)
    assert [key for _, key, _ in sender.sent] == [b"a"]
    assert failed.value.message.startswith("1 of 1 records")


def test_a_broker_that_never_answers_is_a_failure():
    with pytest.raises(AlluviumError) as failed:
        send(ScriptedSender(silent=True))
    assert failed.value.message == "3 of 3 records to temperatures are not confirmed (no answer)"


def test_a_record_the_producer_refuses_is_a_failure():
    class Refusing(ScriptedSender):
        def produce(self, *_, **__):
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))

    with pytest.raises(AlluviumError) as failed:
        send(Refusing())
    assert "1 of 1 records" in failed.value.message
    assert "Message size too large" in failed.value.message


class Clock:
    """Time passes only in `pause`, and not always as much as was asked."""

    def __init__(self, *, early=0.0, late=0.0):
        self.now = 100.0
        self.early = early
        self.late = late
        self.pauses = 0

    def __call__(self):
        return self.now

    def pause(self, seconds):
        self.pauses += 1
        self.now += max(seconds * (1 - self.early), 0.001) + self.late


def paced(clock, rate, count):
    pace = Pace(rate, clock.pause, clock)
    times = []
    for position in range(count):
        pace.wait_for(position)
        times.append(round(clock.now - 100.0, 6))
    return times


def test_records_go_at_the_rate():
    assert paced(Clock(), 4, 5) == [0, 0.25, 0.5, 0.75, 1.0]


def test_late_wake_ups_do_not_add_up():
    times = paced(Clock(late=0.01), 10, 1001)
    assert times[-1] == pytest.approx(100.01)
    assert all(at >= position / 10 for position, at in enumerate(times))


def test_no_pause_is_shorter_than_a_millisecond():
    asked = []
    clock = Clock()

    def pause(seconds):
        asked.append(seconds)
        clock.pause(seconds)

    pace = Pace(5000, pause, clock)
    for position in range(50):
        pace.wait_for(position)
    assert min(asked) >= 0.001
    assert len(asked) == 10


def test_a_pause_that_ends_early_is_continued():
    clock = Clock(early=0.5)
    times = paced(clock, 1, 3)
    assert all(at >= position for position, at in enumerate(times))
    assert clock.pauses > 2


def test_without_a_rate_nothing_waits():
    clock = Clock()
    assert paced(clock, None, 100) == [0] * 100
    assert clock.pauses == 0


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf")])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(UsageError) as refused:
        Pace(rate, no_report)
    assert "--rate" in refused.value.message


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_off_a_terminal_a_line_comes_at_most_every_five_seconds():
    stream, clock = io.StringIO(), Clock()
    with progress(20_000, stream, clock) as report:
        for done in range(0, 20_000, 1000):
            report(done)
            clock.now += 1
    assert stream.getvalue().splitlines() == [
        "5,000 of 20,000 records",
        "10,000 of 20,000 records",
        "15,000 of 20,000 records",
    ]


def test_on_a_terminal_there_is_a_bar_up_to_the_end():
    stream = Terminal()
    with progress(3, stream, Clock()) as report:
        for done in (1, 2, 3):
            report(done)
    assert "3/3" in stream.getvalue()
    assert "━" in stream.getvalue()
