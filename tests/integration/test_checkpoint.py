"""Spark's checkpoint is scratch: whatever is damaged in it, nothing is lost and nothing doubled."""

from pathlib import Path
from typing import Any

import pytest

from common.drivers.stream import Stream
from common.errors import StateError
from common.settings.environment import run_id
from tests.support.trial import Trial, event, pipeline

FILES = ["metadata", "offsets/0", "offsets/1", "commits/0", "sources/0/0"]


@pytest.mark.parametrize("name", FILES)
def test_33_each_file_of_a_checkpoint_is_damaged_in_turn(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Cut in half under a running stream before its second batch, then found so by the next run."""
    checkpoint = Path(str(trial.table)) / "_alluvium" / "trial" / "checkpoint" / run_id()
    damaged: list[bytes] = []

    def settle_once(stream: Stream, rows: Any, batch_id: int) -> None:
        if batch_id == 1:
            whole = (checkpoint / name).read_bytes()
            damaged.append(whole[: len(whole) // 2])
            (checkpoint / name).write_bytes(damaged[0])
        settled_once(stream, rows, batch_id)

    settled_once = Stream._settle_once
    monkeypatch.setattr(Stream, "_settle_once", settle_once)
    trial.pipeline = pipeline(trial.topic, max_records=1)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), event(4, "b", 4.0)], partition=0)
    said = reads_it(name) and r"has lost batch \d .*start the job again: the table knows the position"
    if said:
        with pytest.raises(StateError, match=said):
            trial.run("stream")
    else:
        trial.run("stream")
    assert damaged
    assert trial.position().offsets[0] == (1 if said else 2)

    (checkpoint / name).parent.mkdir(parents=True, exist_ok=True)
    (checkpoint / name).write_bytes(damaged[0])
    monkeypatch.undo()
    trial.broker.produce(trial.topic, [event(5, "b", 5.0)], partition=0)
    assert trial.run("stream").offsets[0] == 3
    assert trial.position().seq == 3
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.0), (4, "b", 4.0), (5, "b", 5.0)}


def reads_it(name: str) -> bool:
    """A batch's range comes from the offsets; the rest is of use to Spark alone, and only when it starts."""
    return name.startswith("offsets/")
