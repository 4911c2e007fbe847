"""Spark's checkpoint is scratch: whatever is damaged in it, nothing is lost and nothing doubled."""

from pathlib import Path
from typing import Any

import pytest

from common.drivers.stream import Stream
from common.errors import StateError
from common.settings.environment import run_id
from tests.support.trial import Trial, event, pipeline

# By the batch before which each is cut in half. A batch's range is read from the offsets, its own and those before it;
# the rest is of use to Spark alone, and only when it starts.
DAMAGE = {1: "metadata", 2: "sources/0/0", 3: "commits/2", 4: "offsets/3"}
LOST = r"Spark's checkpoint has lost batch {} .*; start the job again: the table knows the position"


def test_33_each_file_of_a_checkpoint_is_damaged_in_turn(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a running stream, and found so by the next one, in the same folder."""
    checkpoint = Path(str(trial.table)) / "_alluvium" / "trial" / "checkpoint" / run_id()
    damage = dict(DAMAGE)

    def settle_once(stream: Stream, rows: Any, batch_id: int) -> None:
        if batch_id in damage:
            cut_in_half(checkpoint / damage.pop(batch_id))
        settled_once(stream, rows, batch_id)

    settled_once = Stream._settle_once
    monkeypatch.setattr(Stream, "_settle_once", settle_once)
    trial.pipeline = pipeline(trial.topic, max_records=1)
    trial.broker.produce(trial.topic, [event(number, "b", 0.0) for number in range(10, 15)], partition=0)
    with pytest.raises(StateError, match=LOST.format(3)):
        trial.run("stream")
    assert damage == {}
    assert (trial.position().seq, trial.position().offsets[trial.partition(0)]) == (4, 4)
    assert (checkpoint / "metadata").exists()

    damage[0] = "offsets/0"
    with pytest.raises(StateError, match=LOST.format(0)):
        trial.run("stream")
    assert (trial.position().seq, trial.position().offsets[trial.partition(0)]) == (4, 4)

    assert trial.run("stream").offsets[trial.partition(0)] == 5
    assert trial.position().seq == 5
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0)} | {(number, "b", 0.0) for number in range(10, 15)}


def cut_in_half(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
