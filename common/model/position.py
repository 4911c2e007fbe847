"""The position of a table: epoch, transaction, topics and offsets, as the commit itself carries them."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from common.errors import StateError
from common.model.offsets import Offsets, TopicPartition, by_topic, from_topics
from common.settings.environment import run_id

# The formats of a position: with the offsets of one topic, or with those of several.
ONE_TOPIC, SEVERAL_TOPICS = 1, 2
REPLAY_FORMAT = 1


class Stamp(Protocol):
    """The transaction of a commit, which Delta takes once, and the metadata that describe it."""

    @property
    def app_id(self) -> str: ...

    @property
    def seq(self) -> int: ...

    def to_metadata(self) -> str: ...


@dataclass(frozen=True)
class Position:
    """The state after transaction `seq` of an epoch: the id of each topic, and the next offset of each partition.

    Without offsets and topic ids nothing has been read yet. `run` tells two processes apart that commit the same
    transaction.
    """

    pipeline: str
    epoch: int
    seq: int
    topic_ids: Mapping[str, str | None]
    offsets: Offsets
    run: str

    @property
    def app_id(self) -> str:
        return f"{app_prefix(self.pipeline)}{self.epoch}"

    def advanced(self, topic_ids: Mapping[str, str], end: Offsets) -> "Position":
        return replace(self, seq=self.seq + 1, topic_ids=topic_ids, offsets=end, run=run_id())

    def to_metadata(self) -> str:
        """Write format 1 where it can hold the position, so that an older version still reads the table."""
        offsets = by_topic(self.offsets)
        topics = {
            name: {"id": topic_id, "offsets": offsets.get(name, {})}
            for name, topic_id in sorted(self.topic_ids.items())
        }
        number: int = SEVERAL_TOPICS
        place: dict[str, Any] = {"topics": topics}
        if len(topics) == 1:
            ((name, topic),) = topics.items()
            number, place = ONE_TOPIC, {"topic": name, "topic_id": topic["id"], "offsets": topic["offsets"]}
        transaction = {"pipeline": self.pipeline, "epoch": self.epoch, "seq": self.seq}
        return json.dumps({"alluvium": number, **transaction, **place, "run": self.run})


@dataclass(frozen=True)
class Replay:
    """The transaction of a replay. It moves no offsets, and its id is none of the pipeline's epochs."""

    pipeline: str
    seq: int
    run: str

    @property
    def app_id(self) -> str:
        return replay_app_id(self.pipeline)

    def to_metadata(self) -> str:
        return json.dumps(
            {"alluvium_replay": REPLAY_FORMAT, "pipeline": self.pipeline, "seq": self.seq, "run": self.run}
        )


def replay_app_id(pipeline: str) -> str:
    return f"alluvium-replay:{pipeline}"


def app_prefix(pipeline: str) -> str:
    return f"alluvium:{pipeline}:"


def pipeline_and_epoch(app_id: str) -> tuple[str, int] | None:
    """Return the pipeline and the epoch that an application id names; None where it is not one of ours."""
    match = re.fullmatch(r"alluvium:([^:]+):(\d+)", app_id)
    return None if match is None else (match[1], int(match[2]))


def first_position(pipeline: str, epoch: int, topics: Iterable[str]) -> Position:
    """Return the beginning of an epoch: every partition will be read from the first record there is."""
    return Position(pipeline, epoch, 0, dict.fromkeys(topics), {}, run_id())


def position_in(text: str | None) -> Position | None:
    """Read the position from a commit's metadata; None where they are missing or not ours."""
    try:
        content = json.loads(text or "null")
    except ValueError:
        return None
    is_ours = isinstance(content, dict) and "alluvium" in content
    return from_metadata(text) if is_ours and text is not None else None


def from_metadata(text: str) -> Position:
    content = json.loads(text)
    topic_ids, offsets = read_place(content)
    return Position(
        pipeline=content["pipeline"],
        epoch=content["epoch"],
        seq=content["seq"],
        topic_ids=topic_ids,
        offsets=offsets,
        run=content["run"],
    )


def read_place(content: Mapping[str, Any]) -> tuple[dict[str, str | None], dict[TopicPartition, int]]:
    """Read topic ids and offsets in either format."""
    if content.get("alluvium") == ONE_TOPIC:
        topics = {content["topic"]: {"id": content["topic_id"], "offsets": content["offsets"]}}
    elif content.get("alluvium") == SEVERAL_TOPICS:
        topics = content["topics"]
    else:
        raise StateError(
            f"the table's position has format {content.get('alluvium')}, "
            f"this version reads {ONE_TOPIC} and {SEVERAL_TOPICS}",
            "use the version of Alluvium that wrote the table last, or a newer one",
        )
    ids = {name: topic["id"] for name, topic in topics.items()}
    return ids, from_topics({name: topic["offsets"] for name, topic in topics.items()})
