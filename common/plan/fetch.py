"""A few records, fetched by the driver with a consumer that stays open.

Spark reads a topic by a query, which makes an admin client and a consumer a partition each time: for a hundred
records that takes longer than all the rest. docs/adr/0012-few-records-are-fetched.md.
"""

import time
from collections.abc import Iterable
from typing import Any

import structlog
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from common.plan.offsets import Plan

log = structlog.get_logger()
# What the driver holds of a batch at the most, however few its records are.
MAX_BYTES = 16 * 2**20
# Whatever takes longer is not worth the wait: Spark reads it, and knows each of its errors.
PATIENCE_SECONDS = 5.0
SETTINGS: dict[str, str | int | bool] = {
    "group.id": "alluvium-few",
    "check.crcs": True,
    # What is planned is there, nobody has to wait for it; between batches nothing is assigned, and nothing asked for.
    "fetch.wait.max.ms": 10,
}


class NotFetched(Exception):
    """Why these records are better read by Spark."""


class Fetcher:
    """Of one topic."""

    def __init__(self, topic: str, consumer: Consumer) -> None:
        self._topic, self._consumer = topic, consumer

    def fetch(self, planned: Plan) -> list[Message] | None:
        """The committed records of these offsets. None where they are too large, or there is any difficulty."""
        ends = {partition: end for partition, end in planned.end.items() if planned.start[partition] < end}
        try:
            self._consumer.assign([TopicPartition(self._topic, each, planned.start[each]) for each in ends])
            try:
                return list(self._up_to(ends))
            finally:
                self._consumer.unassign()
        except (KafkaException, NotFetched) as reason:
            log.info("Spark reads this batch, it could not be fetched", reason=str(reason))
            return None

    def _up_to(self, ends: dict[int, int]) -> Iterable[Message]:
        until, size = time.monotonic() + PATIENCE_SECONDS, 0
        while ends:
            message = self._next(until)
            partition, offset = message.partition(), message.offset()
            is_record = message.error() is None
            if is_record and offset < ends.get(partition, 0):
                size += len(message.value() or b"") + len(message.key() or b"")
                if size > MAX_BYTES:
                    raise NotFetched(f"more than {MAX_BYTES} bytes")
                yield message
            # Behind the last record there may be none of ours any more: then the next one, or the log's end, tells.
            if offset + is_record >= ends.get(partition, offset + 2):
                del ends[partition]

    def _next(self, until: float) -> Any:
        """The next record, or the end of a partition."""
        message = self._consumer.poll(max(until - time.monotonic(), 0))
        if message is None:
            raise NotFetched(f"nothing came for {PATIENCE_SECONDS:g} s")
        if message.error() is not None and message.error().code() != KafkaError._PARTITION_EOF:
            raise NotFetched(message.error().str())
        return message
