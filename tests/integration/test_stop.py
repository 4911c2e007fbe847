"""A request to stop, made at every kind of moment: a batch is finished or let go, and the table stays exact."""

import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from common import stop
from common.delta.lock import commit_lock
from common.drivers.batch_loop import BatchLoop, IdlePolicy
from common.drivers.stream import Stream, Trigger
from common.engine import batch, commit
from common.engine.run_report import Report, read_report
from common.spark.session import cancel_jobs
from tests.support.trial import Trial, drained, event, pipeline


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A process in which nobody has asked for anything yet."""
    request = stop._Request()
    monkeypatch.setattr(stop, "_request", request)
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    yield
    request.met.set()


def report(folder: Path) -> Report:
    (file,) = (folder / "reports").glob("*.json")
    return read_report(file)


def followed(driver: BatchLoop | Stream) -> None:
    if isinstance(driver, Stream):
        driver.follow(Trigger("200 milliseconds"))
    else:
        driver.follow(IdlePolicy(wait_seconds=60, give_up_seconds=60))


def asks_at(point: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The signal comes when a batch is at one of these points of its way."""
    points = [point]

    def ask(name: str) -> None:
        if name in points:
            stop.request(signal.SIGTERM)

    for module in (batch, commit):
        monkeypatch.setattr(module, "fault_point", ask)
    return points


@pytest.mark.parametrize("mode", ["batch", "stream"])
@pytest.mark.parametrize(("point", "batches"), [("accounted", 0), ("merge", 1)])
def test_a_batch_is_let_go_before_its_first_write_and_finished_after_it(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, point: str, batches: int
) -> None:
    trial.pipeline = pipeline(trial.topic, max_records=2)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json"), event(4, "b", 4.0)], partition=0)
    asking = asks_at(point, monkeypatch)
    words = (
        f"stopped by SIGTERM after {batches} batch{'es' if batches != 1 else ''}; the next start goes on from the table"
    )
    with pytest.raises(stop.Stopped) as stopped:
        trial.run(mode)
    assert (str(stopped.value), stopped.value.exit_code) == (words, 143)
    assert (report(tmp_path).state, report(tmp_path).error, report(tmp_path).batches) == ("stopped", None, batches)
    assert trial.position().seq == batches
    assert len(trial.quarantined()) == batches
    asking.clear()
    monkeypatch.setattr(stop, "_request", stop._Request())
    assert trial.run(mode).offsets[trial.partition(0)] == 3
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.0), (4, "b", 4.0)}
    assert len(trial.quarantined()) == 1


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_job_that_waits_for_records_stops_at_once(trial: Trial, tmp_path: Path, mode: str) -> None:
    driver = trial.driver(mode)
    asking = threading.Timer(1, stop.request, (signal.SIGINT,))
    asking.start()
    with pytest.raises(stop.Stopped) as stopped:
        followed(driver)
    asking.join()
    assert stopped.value.exit_code == 130
    assert report(tmp_path).state == "stopped"


def test_who_waits_for_a_lock_stops(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    driver = trial.driver("batch")
    asking = threading.Timer(1, stop.request, (signal.SIGTERM,))
    with commit_lock(trial.table):
        asking.start()
        with pytest.raises(stop.Stopped):
            drained(driver)
    asking.join()
    assert trial.position().seq == 0


def test_where_nothing_is_deferred_the_jobs_of_spark_are_cancelled(spark: SparkSession) -> None:
    """As in a base load, a compaction or a replay: each is an operation that has failed, with its locks held until
    then."""
    stop.cancel_by(lambda: cancel_jobs(spark))
    threading.Timer(1, stop.request, (signal.SIGTERM,)).start()
    with pytest.raises(Py4JJavaError, match="SPARK_JOB_CANCELLED"):
        spark.range(10**13).selectExpr("sum(id * id)").collect()
    assert stop.is_cancelling()
