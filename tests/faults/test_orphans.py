"""The Python half of a job is killed alone, and its JVM lives on in the midst of a commit."""

import json
from pathlib import Path

import pytest

from tests.faults.victim import Victim
from tests.faults.world import World
from tests.support.broker import Broker

WAITING = "waiting for the JVM of a job that was killed"


def stop_within_merge(world: World, mode: str) -> Victim:
    """Its data files are written, the commit is not: the JVM stands still there, and Python is dead."""
    victim = world.merge(mode, fault="merge+")
    victim.await_point()
    before = world.data_files()
    victim.await_moment(lambda: bool(world.data_files() - before), poll_seconds=0.001)
    victim.stop_jvm()
    victim.kill_python()
    return victim


def commits(table: Path) -> list[tuple[str, int]]:
    """Run and transaction of every commit of the pipeline, in the order of the log."""
    found = []
    for entry in sorted((table / "_delta_log").glob("*.json")):
        for line in entry.read_text().splitlines():
            if line.startswith('{"commitInfo"'):
                said = json.loads(json.loads(line)["commitInfo"].get("userMetadata", "{}"))
                found += [(said["run"], said["seq"])] if "seq" in said else []
    return found


@pytest.mark.long
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_47_a_jvm_without_python_does_not_commit_after_the_next_job_began(
    broker: Broker, tmp_path: Path, mode: str
) -> None:
    world = World(tmp_path / "world", broker, seed=17)
    world.load()
    world.produce(200)
    orphan = stop_within_merge(world, mode)
    before = commits(world.table)

    following = world.merge(mode)
    following.await_moment(lambda: WAITING in following.output)
    assert commits(world.table) == before

    orphan.resume_jvm()
    orphan.wait()
    world.complete(following)
    after = commits(world.table)
    runs = [run for run, _ in after]
    assert runs == sorted(runs, key=runs.index), "a run has committed after the next one"
    assert [seq for _, seq in after] == list(range(len(after)))
    assert not world.difference()
    assert world.unread() == 0
