"""How far a table has come: epoch, sequence number, topic and offsets, as they ride in the commit itself."""

import json
import re
from dataclasses import dataclass, replace
from typing import Protocol

from common.errors import StateError
from common.model.offsets import Offsets
from common.settings.environment import run_id

FORMAT = 1


class Stamp(Protocol):
    """What a commit carries: a transaction that Delta takes once, and words about it."""

    @property
    def app_id(self) -> str: ...

    @property
    def seq(self) -> int: ...

    def to_metadata(self) -> str: ...


@dataclass(frozen=True)
class Position:
    """The state after transaction `seq` of an epoch. Without offsets and topic id it has not read anything yet.

    `run` tells two processes apart that commit the same transaction.
    """

    pipeline: str
    epoch: int
    seq: int
    topic: str
    topic_id: str | None
    offsets: Offsets
    run: str

    @property
    def app_id(self) -> str:
        return f"{app_prefix(self.pipeline)}{self.epoch}"

    def advanced(self, topic: str, topic_id: str, end: Offsets) -> "Position":
        return replace(self, seq=self.seq + 1, topic=topic, topic_id=topic_id, offsets=end, run=run_id())

    def to_metadata(self) -> str:
        return json.dumps(
            {
                "alluvium": FORMAT,
                "pipeline": self.pipeline,
                "epoch": self.epoch,
                "seq": self.seq,
                "topic": self.topic,
                "topic_id": self.topic_id,
                "offsets": {str(partition): offset for partition, offset in sorted(self.offsets.items())},
                "run": self.run,
            }
        )


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
        return json.dumps({"alluvium_replay": FORMAT, "pipeline": self.pipeline, "seq": self.seq, "run": self.run})


def replay_app_id(pipeline: str) -> str:
    return f"alluvium-replay:{pipeline}"


def app_prefix(pipeline: str) -> str:
    return f"alluvium:{pipeline}:"


def pipeline_and_epoch(app_id: str) -> tuple[str, int] | None:
    """The pipeline and the epoch that an application id names; None where it is not one of ours."""
    match = re.fullmatch(r"alluvium:([^:]+):(\d+)", app_id)
    return None if match is None else (match[1], int(match[2]))


def first_position(pipeline: str, epoch: int, topic: str) -> Position:
    """An epoch's beginning: it will read every partition from the first record there is."""
    return Position(pipeline, epoch, 0, topic, None, {}, run_id())


def position_in(text: str | None) -> Position | None:
    """What a commit's metadata say, or None where they are missing or somebody else's."""
    try:
        content = json.loads(text or "null")
    except ValueError:
        return None
    is_ours = isinstance(content, dict) and "alluvium" in content
    return from_metadata(text) if is_ours and text is not None else None


def from_metadata(text: str) -> Position:
    content = json.loads(text)
    if content.get("alluvium") != FORMAT:
        raise StateError(
            f"the table's position has format {content.get('alluvium')}, this version reads {FORMAT}",
            "use the version of Alluvium that wrote the table last, or a newer one",
        )
    return Position(
        pipeline=content["pipeline"],
        epoch=content["epoch"],
        seq=content["seq"],
        topic=content["topic"],
        topic_id=content["topic_id"],
        offsets={int(partition): offset for partition, offset in content["offsets"].items()},
        run=content["run"],
    )
