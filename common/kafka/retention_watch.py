"""Warn when the oldest unread record nears the age at which Kafka removes it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from common.kafka.topic import TopicClient
from common.model.offsets import Offsets, Plan, of_topics

log = structlog.get_logger()
LOOK_SECONDS = 600.0
# Past the bound itself, records may be removed already. Past half of it, there is still time.
SHARES = (1.0, 0.5)
UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


@dataclass(frozen=True)
class RetentionBound:
    """An age at which a topic removes something, and the setting that says so."""

    setting: str
    milliseconds: int
    removed: str


def bounds(settings: Mapping[str, str]) -> list[RetentionBound]:
    """Read the bounds of a topic: compaction removes deletes, retention removes records. It may have both, or none."""
    policies = settings.get("cleanup.policy", "").split(",")
    limits = []
    if "compact" in policies:
        limits.append(RetentionBound("delete.retention.ms", int(settings["delete.retention.ms"]), "deletes"))
    if "delete" in policies:
        limits.append(RetentionBound("retention.ms", int(settings["retention.ms"]), "records"))
    return [bound for bound in limits if bound.milliseconds >= 0]


class ExpiryWatch:
    """The check of the first batch, and then of one from time to time: a few small requests, no records."""

    def __init__(self, topic: TopicClient, every_seconds: float = LOOK_SECONDS) -> None:
        self._topic = topic
        self._every = every_seconds
        self._next = time.monotonic()

    def look(self, planned: Plan) -> None:
        """Check the records that the read begins with, which are the oldest that are not settled."""
        unread = {each: first for each, first in planned.start.items() if first < planned.end[each]}
        if not unread or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every
        for topic in sorted({each.topic for each in unread}):
            for bound in bounds(self._topic.settings(topic)):
                self._warn(bound, topic, of_topics(unread, [topic]))

    def _warn(self, bound: RetentionBound, topic: str, unread: Offsets) -> None:
        now = int(time.time() * 1000)
        for share in SHARES:
            age = int(bound.milliseconds * share)
            partitions = self._topic.older_than(now - age, unread)
            if partitions:
                log.warning(
                    f"{bound.removed} may be gone before they are read: the oldest unread record nears its end",
                    topic=topic,
                    partitions=[each.partition for each in partitions],
                    older_than=format_duration(age),
                    removed_after=format_duration(bound.milliseconds),
                    remedy=f"run more often or in larger batches, or raise the topic's {bound.setting}",
                )
                return


def format_duration(milliseconds: int) -> str:
    """Write a duration in the largest unit without a remainder: `36h`, `7d`, `1500ms`."""
    name, size = next((name, size) for name, size in UNITS if milliseconds % size == 0)
    return f"{milliseconds // size}{name}"
