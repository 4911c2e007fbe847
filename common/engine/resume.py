"""Where a driver goes on, and which of a stream's batches are done already. Pure: asked of a ledger and a topic."""

from dataclasses import dataclass

from common.delta.ledger import Ledger
from common.errors import StateError
from common.kafka.topic import TopicClient
from common.model.offsets import Available, Offsets, Plan, starting_offsets
from common.model.position import Position
from common.settings.remedies import new_epoch


@dataclass(frozen=True)
class Resumption:
    """The table's position, and the topic that was found to fit it."""

    position: Position
    topic_id: str
    available: Available


def resume(ledger: Ledger, topic: TopicClient) -> Resumption:
    topic_id, _ = topic.describe()
    position = ledger.position()
    refuse_other_topic(position, topic.name, topic_id)
    available = topic.available()
    starting_offsets(position.offsets, available)
    return Resumption(position, topic_id, available)


def refuse_other_topic(position: Position, name: str, topic_id: str) -> None:
    """Offsets of another topic can be in range all the same: only the id tells."""
    if position.topic_id is None or position.topic_id == topic_id:
        return
    what = "was recreated" if position.topic == name else f"is not '{position.topic}', which the table has read"
    raise StateError(
        f"topic '{name}' {what} (its id is {topic_id}, the table's {position.topic_id})",
        f"begin a new epoch on it with {new_epoch('beginning')}",
    )


def refuse_recreated(found: str, wanted: str, name: str) -> None:
    """After a read, so that no record of a topic that was recreated meanwhile passes."""
    if found != wanted:
        raise StateError(
            f"topic '{name}' was recreated while this job ran (its id is {found}, it was {wanted})",
            f"begin a new epoch on it with {new_epoch('beginning')}",
        )


def planned_by_spark(before: Offsets, end: Offsets) -> Plan:
    """A batch of the stream: a partition that Spark's log did not name before is new, and read from its beginning."""
    return Plan({partition: before.get(partition, 0) for partition in end}, end)


def is_already_committed(planned: Plan, position: Position) -> bool:
    """True for a batch that the table already has, or that has no records. A batch that begins anywhere but at the
    position is refused."""
    if not position.offsets:
        # The first batch of a stream on a topic that nobody has written to yet: Spark plans it all the same.
        return planned.records == 0
    # Every partition of the position: a batch that leaves one out would make the table forget how far it is there.
    committed = {**dict.fromkeys(planned.end, 0), **position.offsets}
    if all(end <= committed[partition] for partition, end in planned.end.items()):
        return True
    if dict(planned.start) != committed:
        raise StateError(
            f"the stream read from {dict(planned.start)}, the table stands at {committed}",
            "start the job again: it goes on from the table",
        )
    return False
