"""Find where a driver goes on, and which batches of a stream are done already, by a ledger and a topic."""

from collections.abc import Mapping
from dataclasses import dataclass

from common.delta.ledger import Ledger
from common.errors import StateError
from common.kafka.topic import TopicClient
from common.model.offsets import Available, Offsets, Plan, by_topic, starting_offsets
from common.model.position import Position
from common.settings.remedies import new_epoch


@dataclass(frozen=True)
class Resumption:
    """The table's position, and the topics that were found to fit it."""

    position: Position
    topic_ids: Mapping[str, str]
    available: Available


def resume(ledger: Ledger, topic: TopicClient) -> Resumption:
    topic_ids = topic.ids()
    position = ledger.position()
    refuse_other_topics(position, topic_ids)
    available = topic.available()
    starting_offsets(position.offsets, available)
    return Resumption(position, topic_ids, available)


def refuse_other_topics(position: Position, topic_ids: Mapping[str, str]) -> None:
    """Refuse topics that are not those which the table has read. A further topic begins at its first record.

    Offsets of another topic may be in range too, so only the id shows the difference.
    """
    for name, read_id in position.topic_ids.items():
        if read_id is None or topic_ids.get(name) == read_id:
            continue
        if name in topic_ids:
            what = f"topic '{name}' was recreated (its id is {topic_ids[name]}, the table's {read_id})"
        else:
            given, its_id = next(iter(topic_ids.items()))
            what = (
                f"topic '{given}' is not '{name}', which the table has read (its id is {its_id}, the table's {read_id})"
            )
        raise StateError(what, f"begin a new epoch on it with {new_epoch('beginning')}")


def refuse_recreated(found: Mapping[str, str], wanted: Mapping[str, str]) -> None:
    """Refuse a topic that was recreated. This is checked after a read, so that none of its records passes."""
    for name, topic_id in wanted.items():
        if found[name] != topic_id:
            raise StateError(
                f"topic '{name}' was recreated while this job ran (its id is {found[name]}, it was {topic_id})",
                f"begin a new epoch on it with {new_epoch('beginning')}",
            )


def planned_by_spark(before: Offsets, end: Offsets) -> Plan:
    """Return the plan of a stream's batch. A partition that Spark's log did not name before is read from offset 0."""
    return Plan({where: before.get(where, 0) for where in end}, end)


def is_already_committed(planned: Plan, position: Position) -> bool:
    """True for a batch that the table already has, or that has no records.

    A batch that begins anywhere but at the position is refused.
    """
    # Every partition of the position counts: a batch that leaves one out would make the table forget its offset there.
    # A topic that is new to the table may begin anywhere, and Spark plans it even where nobody has written to it yet.
    known = {each.topic for each in position.offsets}
    begun = {where: 0 if where.topic in known else first for where, first in planned.start.items()}
    committed = {**begun, **position.offsets}
    if all(end <= committed[where] for where, end in planned.end.items()):
        return True
    if dict(planned.start) != committed:
        raise StateError(
            f"the stream read from {by_topic(planned.start)}, the table stands at {by_topic(committed)}",
            "start the job again: it goes on from the table",
        )
    return False
