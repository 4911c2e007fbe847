"""Send to Kafka so that every record is confirmed by all replicas, once, or reported as not confirmed."""

from collections.abc import Callable, Iterable
from typing import Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from common import stop
from common.errors import AlluviumError
from common.produce.pace import Pace
from common.produce.records import Record
from common.settings.kafka_security import OPEN, Access

MESSAGE_TIMEOUT_SECONDS = 30.0
FLUSH_SECONDS = MESSAGE_TIMEOUT_SECONDS + 5
ROOM_SECONDS = 0.1

OnDelivery = Callable[[KafkaError | None, Message], None]


class Sender(Protocol):
    """The part of confluent_kafka's Producer that is used here."""

    def produce(self, topic: str, *, key: bytes, value: bytes, on_delivery: OnDelivery) -> None: ...
    def poll(self, timeout: float) -> int: ...
    def flush(self, timeout: float) -> int: ...


def new_producer(brokers: str, access: Access = OPEN) -> Producer:
    """Build an idempotent producer: a retry after a lost answer neither doubles a record nor reorders two."""
    return Producer(
        {
            **access.librdkafka,
            "bootstrap.servers": brokers,
            "enable.idempotence": True,
            "acks": "all",
            "message.timeout.ms": int(MESSAGE_TIMEOUT_SECONDS * 1000),
            # What it would print on stderr reaches us as the error of a delivery.
            "log_level": 0,
        }
    )


class Delivery:
    """The records handed over, the confirmations received, the first failure."""

    def __init__(self, sender: Sender, topic: str) -> None:
        self._sender = sender
        self._topic = topic
        self.handed_over = 0
        self.confirmed = 0
        self.first_failure: str | None = None

    def send(self, records: Iterable[Record], pace: Pace, report: Callable[[int], None]) -> int:
        """Send all records and return how many are confirmed: all of them, or it is an error.

        The first failure stops it. A signal stops it when everything that was handed over is confirmed.
        """
        with stop.deferred():
            for position, record in enumerate(records):
                pace.wait_for(position)
                if stop.requested() or self.first_failure is not None:
                    break
                self._hand_over(record)
                self._sender.poll(0)
                report(self.handed_over)
            self._sender.flush(FLUSH_SECONDS)
            confirmed = self._all_confirmed()
        if stop.requested():
            when = f"after {confirmed} confirmed records"
            raise stop.Stopped(stop.stopped().by, when, "send again: the merge takes a record twice without harm")
        return confirmed

    def _hand_over(self, record: Record) -> None:
        """Wait while the queue is full: either it empties, or its records time out and count as failures."""
        while self.first_failure is None:
            try:
                self._sender.produce(self._topic, key=record.key, value=record.value, on_delivery=self._on_delivery)
            except BufferError:
                self._sender.poll(ROOM_SECONDS)
            except KafkaException as error:
                self.handed_over += 1
                self._on_failure(error.args[0])
            else:
                self.handed_over += 1
                return

    def _on_delivery(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.confirmed += 1
        else:
            self._on_failure(error)

    def _on_failure(self, error: KafkaError) -> None:
        self.first_failure = self.first_failure or error.str()

    def _all_confirmed(self) -> int:
        lost = self.handed_over - self.confirmed
        if lost:
            raise AlluviumError(
                f"{lost} of {self.handed_over} records to {self._topic} are not confirmed"
                f" ({self.first_failure or 'no answer'})",
                "see the broker's log, then send again: the merge takes a record twice without harm",
            )
        return self.confirmed
