"""The ways in which a job is ended before its time, each with the proof that it was."""

import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from common.faults import POINTS
from kafka_docker.embedded.kafka import Kafka
from tests.faults.victim import Victim
from tests.faults.world import World

MODES = ("batch", "stream")
# What spark-submit gives back for a Python that died of SIGKILL.
KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True)
class Scene:
    """Where a death takes place."""

    world: World
    kafka: Kafka
    chance: random.Random
    # A job is killed in one of so many.
    batches: int


@dataclass(frozen=True)
class Death:
    """`die` runs a job and ends it; True if a process died of SIGKILL there, or if the broker's fault landed."""

    name: str
    die: Callable[[Scene, str], bool]


def at(point: str) -> Death:
    """The job stands at the point, in one of its batches, and is killed."""

    def die(scene: Scene, mode: str) -> bool:
        once = point in {"started", "undone"}
        time_of_many = 1 if once else scene.chance.randint(1, scene.batches)
        victim = scene.world.merge(mode, fault=f"{point}:{time_of_many}")
        victim.await_point()
        return victim.kill(jvm_only=scene.chance.random() < 0.5)

    return Death(point, die)


def within(point: str, suffix: str) -> Death:
    """Killed when the write that follows the point has put a file there, and its commit is not yet."""

    def die(scene: Scene, mode: str) -> bool:
        victim = scene.world.merge(mode, fault=f"{point}+")
        return die_writing(scene.world, victim, suffix)

    return Death(f"within {point}", die)


def python_within_merge(scene: Scene, mode: str) -> bool:
    """Python alone is killed in the midst of a commit: its JVM ends by itself, and may commit before that."""
    victim = scene.world.merge(mode, fault="merge+")
    victim.await_point()
    before = scene.world.data_files()
    victim.await_moment(lambda: bool(scene.world.data_files() - before), poll_seconds=0.005)
    victim.kill_python()
    return victim.wait() == KILLED


def within_optimize(scene: Scene, mode: str) -> bool:
    """Maintenance is killed beside a job that merges, which must not mind."""
    beside = scene.world.merge(mode)
    died = die_writing(scene.world, scene.world.compact(fault="optimize+"), *TABLES)
    scene.world.complete(beside)
    return died


def die_writing(world: World, victim: Victim, *suffixes: str) -> bool:
    """Kill it as soon as it has written a file of one of these tables."""
    victim.await_point()
    before = {suffix: world.data_files(suffix) for suffix in suffixes}
    victim.await_moment(lambda: any(world.data_files(each) - before[each] for each in suffixes), poll_seconds=0.005)
    return victim.kill()


def at_random(scene: Scene, mode: str) -> bool:
    """Any moment of its life; it may be over before that."""
    return scene.world.merge(mode).kill_after(scene.chance.uniform(6, 25))


def broker_killed(scene: Scene, mode: str) -> bool:
    """The broker dies while a batch is planned and not read: the job ends by itself and says to try later."""
    job = scene.world.merge(mode, fault="planned+")
    job.await_point()
    scene.kafka.kill()
    code = job.wait()
    scene.kafka.start()
    assert code == 75, f"exit code {code} without a broker: {job.output[-2000:]}"
    return True


def broker_paused(scene: Scene, mode: str) -> bool:
    """The broker stands still for a while: the job waits, and ends well."""
    job = scene.world.merge(mode, fault="planned+")
    job.await_point()
    scene.kafka.pause()
    time.sleep(5)
    still_there = job.is_running()
    scene.kafka.resume()
    scene.world.complete(job)
    return still_there


# The table, and those beside it that compaction is for too.
TABLES = ("", "_quarantine", "_late")
WITHIN_OPTIMIZE = Death("within optimize", within_optimize)
DEATHS = [
    *(at(point) for point in POINTS if point != "optimize"),
    within("quarantine", "_quarantine"),
    within("merge", ""),
    Death("python alone within merge", python_within_merge),
    WITHIN_OPTIMIZE,
    Death("at random", at_random),
    Death("broker killed", broker_killed),
    Death("broker paused", broker_paused),
]
