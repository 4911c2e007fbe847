"""Before the topic forgets: a warning when the oldest unread record nears the age at which it is removed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

import structlog

from common.kafka.topic import TopicClient
from common.model.offsets import Plan

log = structlog.get_logger()
LOOK_SECONDS = 600.0
# Past the bound itself it may have happened already; past half of it there is still time.
SHARES = (1.0, 0.5)
UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1))


@dataclass(frozen=True)
class PruneBound:
    """An age at which a topic removes something, and the setting that says so."""

    setting: str
    milliseconds: int
    removed: str


def bounds(settings: Mapping[str, str]) -> list[PruneBound]:
    """Compaction forgets deletes, retention forgets records; a topic may do both, or be without an end."""
    policies = settings.get("cleanup.policy", "").split(",")
    found = []
    if "compact" in policies:
        found.append(PruneBound("delete.retention.ms", int(settings["delete.retention.ms"]), "deletes"))
    if "delete" in policies:
        found.append(PruneBound("retention.ms", int(settings["retention.ms"]), "records"))
    return [bound for bound in found if bound.milliseconds >= 0]


class ExpiryWatch:
    """Looks at the first batch and then from time to time: two small requests, no records."""

    def __init__(self, topic: TopicClient, every_seconds: float = LOOK_SECONDS) -> None:
        self._topic = topic
        self._every = every_seconds
        self._next = time.monotonic()

    def look(self, planned: Plan) -> None:
        """At what the batch begins with: the oldest records that nobody has settled yet."""
        unread = {partition: first for partition, first in planned.start.items() if first < planned.end[partition]}
        if not unread or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._every
        for bound in bounds(self._topic.settings()):
            self._warn(bound, unread)

    def _warn(self, bound: PruneBound, unread: Mapping[int, int]) -> None:
        now = int(time.time() * 1000)
        for share in SHARES:
            age = int(bound.milliseconds * share)
            partitions = self._topic.older_than(now - age, unread)
            if partitions:
                log.warning(
                    f"{bound.removed} may be gone before they are read: the oldest unread record nears its end",
                    topic=self._topic.name,
                    partitions=partitions,
                    older_than=spoken(age),
                    removed_after=spoken(bound.milliseconds),
                    remedy=f"run more often or in larger batches, or raise the topic's {bound.setting}",
                )
                return


def spoken(milliseconds: int) -> str:
    """`36h`, `7d`, `1500ms`: in the largest unit that leaves nothing over."""
    name, size = next((name, size) for name, size in UNITS if milliseconds % size == 0)
    return f"{milliseconds // size}{name}"
