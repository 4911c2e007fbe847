"""SIGTERM and SIGINT end a job with nothing half done, whoever gets them: the JVM, the Python driver, or both."""

import signal
import time
from collections.abc import Iterator

import pytest

from common.engine.run_report import Report, read_report
from tests.faults.model import committed
from tests.faults.victim import Victim
from tests.faults.world import World
from tests.support.broker import Broker


@pytest.fixture(scope="module")
def world(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> World:
    """A table with its base rows, and a topic with two batches of records."""
    world = World(tmp_path_factory.mktemp("signals") / "world", broker, seed=14)
    world.load()
    world.produce(200)
    return world


@pytest.fixture
def victims() -> Iterator[list[Victim]]:
    started: list[Victim] = []
    yield started
    for victim in started:
        victim.kill()


def follow(world: World, mode: str, *, fault: str | None = None) -> Victim:
    """A job that goes on until it is stopped."""
    how = ["--trigger", "1 second"] if mode == "stream" else ["--wait", "60"]
    where = ["--pipeline", "drill", str(world.table), world.broker.address, world.topic]
    return world.start("streaming_merge", ["--mode", mode, *how, *where], fault=fault)


def report_of(world: World) -> Report:
    return read_report(max((world.folder / "reports").glob("*.json"), key=lambda path: path.stat().st_mtime))


def said(victim: Victim) -> list[str]:
    return [
        line for line in victim.output.splitlines() if line.startswith(("error", "stopped", "Traceback", "Exception"))
    ]


def test_46_a_batch_that_is_being_written_is_finished(world: World, victims: list[Victim]) -> None:
    """`docker stop` signals the JVM alone, which the script has become."""
    victims.append(job := follow(world, "stream", fault="merge"))
    job.await_point()
    before = committed(world.table)
    job.signal(signal.SIGTERM, "jvm")
    assert job.wait() == 143, job.output
    assert said(job) == ["stopped by SIGTERM after 1 batch; the next start goes on from the table"]
    assert (report_of(world).state, report_of(world).batches) == ("stopped", 1)
    assert committed(world.table).seq == before.seq + 1
    assert not world.difference()
    assert job.is_gone()


@pytest.mark.long
def test_a_batch_of_which_nothing_is_written_is_let_go(world: World, victims: list[Victim]) -> None:
    """Ctrl-C signals the JVM and the driver."""
    victims.append(job := follow(world, "stream", fault="read"))
    job.await_point()
    before = committed(world.table)
    job.signal(signal.SIGINT, "group")
    assert job.wait() == 130, job.output
    assert said(job) == ["stopped by SIGINT after 0 batches; the next start goes on from the table"]
    report = report_of(world)
    assert (report.state, report.error, report.batches) == ("stopped", None, 0)
    assert committed(world.table) == before
    assert job.is_gone()


@pytest.mark.long
@pytest.mark.parametrize(
    ("mode", "which", "to"),
    [("batch", signal.SIGTERM, "driver"), ("batch", signal.SIGINT, "jvm"), ("stream", signal.SIGTERM, "group")],
)
def test_a_job_that_waits_ends_by_itself(
    world: World, victims: list[Victim], mode: str, which: signal.Signals, to: str
) -> None:
    victims.append(job := follow(world, mode))
    waits = "Waiting for" if mode == "batch" else "Schema after conversion"
    job.await_moment(lambda: waits in job.output and world.unread() == 0)
    job.signal(which, to)
    assert job.wait() == 128 + which, job.output
    (line,) = said(job)
    assert line.startswith(f"stopped by {which.name} after ")
    assert report_of(world).state == "stopped"
    assert not world.difference()
    assert job.is_gone()


@pytest.mark.long
def test_a_second_signal_ends_a_job_at_once_with_its_jvm(world: World, victims: list[Victim]) -> None:
    world.produce(50)
    victims.append(job := follow(world, "batch", fault="merge"))
    job.await_point()
    before = committed(world.table)
    job.signal(signal.SIGTERM, "jvm")
    time.sleep(0.05)
    job.signal(signal.SIGTERM, "jvm")
    assert job.wait() == 143, job.output
    (line,) = said(job)
    assert line.startswith("stopped by SIGTERM at once; what was under way is let go")
    assert job.is_gone()
    assert committed(world.table) == before
    world.complete(world.merge("batch"))
    assert not world.difference()


@pytest.mark.long
def test_maintenance_ends_between_two_chunks(world: World, victims: list[Victim]) -> None:
    victims.append(job := world.compact(fault="optimize"))
    job.await_point()
    before = world.data_files()
    job.signal(signal.SIGTERM, "group")
    assert job.wait() == 143, job.output
    assert said(job) == ["stopped by SIGTERM; nothing is half done, run it again"]
    assert world.data_files() == before
    assert job.is_gone()
