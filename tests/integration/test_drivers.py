"""Both drivers on a real broker and a real table: the table is the truth about where to go on."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from structlog.testing import capture_logs

from common.drivers.batch_loop import BatchLoop, IdlePolicy
from common.drivers.run import Run
from common.drivers.stream import Stream, Trigger
from common.engine import batch
from common.engine.context import BatchContext
from common.engine.run_report import read_report
from common.engine.source import ReadRows
from common.engine.start import start_from_table
from common.errors import StateError, TooManyBadRecords
from common.model.offsets import Plan
from common.settings.environment import run_id
from tests.support.trial import Trial, drained, event, pipeline


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_new_keys_are_inserted_and_known_ones_updated(trial: Trial, mode: str) -> None:
    trial.broker.produce(trial.topic, [event(2, "a", 2.5), event(3, "b", 3.0), event(3, "b", 3.5), event(4, "b", None)])
    position = trial.run(mode)
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.5), (3, "b", 3.5), (4, "b", None)}
    assert sum(position.offsets.values()) == 4
    assert trial.position() == position


def test_the_modes_take_turns_without_loss_or_repetition(trial: Trial) -> None:
    for turn, mode in enumerate(["stream", "batch", "stream"]):
        trial.broker.produce(trial.topic, [event(1, "a", 10.0 + turn), event(100 + turn, "c", 0.0)])
        trial.run(mode)
        assert trial.position().seq == turn + 1
    assert trial.rows() == {(1, "a", 12.0), (2, "a", 2.0), (100, "c", 0.0), (101, "c", 0.0), (102, "c", 0.0)}
    assert sum(trial.position().offsets.values()) == 6


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_nothing_new_makes_no_commit(trial: Trial, mode: str) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    trial.run(mode)
    before = trial.version()
    trial.run(mode)
    assert trial.version() == before


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_topic_without_records_makes_no_commit_and_is_read_from_its_beginning_later(trial: Trial, mode: str) -> None:
    before = trial.version()
    trial.run(mode)
    assert trial.version() == before
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    assert sum(trial.run(mode).offsets.values()) == 1
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.0)}


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_45_a_job_that_is_started_before_the_first_record_settles_it_when_it_comes(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    def settle(run: Run, *given: Any) -> None:
        settled(run, *given)
        for query in trial.spark.streams.active:
            threading.Thread(target=query.stop).start()  # Not from here: it waits for the batch that waits for us.

    settled = Run.settle
    monkeypatch.setattr(Run, "settle", settle)
    driver = trial.driver(mode)
    later = threading.Timer(1, trial.broker.produce, (trial.topic, [event(3, "b", 3.0)]))
    later.start()
    try:
        if isinstance(driver, Stream):
            driver.follow(Trigger("200 milliseconds"))
        else:
            driver.follow(IdlePolicy(wait_seconds=0.5, give_up_seconds=3))
    finally:
        later.join()
    assert (trial.position().seq, sum(trial.position().offsets.values())) == (1, 1)
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.0)}


def test_what_nobody_foresaw_in_a_batch_of_the_stream_is_raised_as_itself(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not as Spark's words about it, which are pages long."""

    def fail(*_: Any) -> None:
        raise ValueError("planted")

    monkeypatch.setattr(Run, "settle", fail)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    with pytest.raises(ValueError, match=r"^planted$"):
        trial.run("stream")


def test_limits_make_several_batches(trial: Trial) -> None:
    trial.pipeline = pipeline(trial.topic, max_records=3)
    trial.broker.produce(trial.topic, [event(number, "a", float(number)) for number in range(8)])
    assert trial.run("batch").seq == 3
    assert trial.rows() == {(number, "a", float(number)) for number in range(8)}


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_small_batches_leave_one_file_a_partition_behind(trial: Trial, mode: str) -> None:
    """However often they come: each rewrites what the one before it wrote, in one task."""
    trial.pipeline = pipeline(trial.topic, target={"prune_by": ["part"]})
    for turn in range(3):
        trial.broker.produce(trial.topic, [event(number, "a", float(turn)) for number in range(40)])
        trial.run(mode)
    assert trial.rows() == {(number, "a", 2.0) for number in range(40)}
    assert len(DeltaTable.forPath(trial.spark, trial.table.uri).toDF().inputFiles()) == 1


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_06_an_added_partition_is_read_from_its_beginning(trial: Trial, mode: str) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    trial.run(mode)
    trial.broker.add_partitions(trial.topic, 4)
    trial.broker.produce(trial.topic, [event(4, "b", 4.0)], partition=3)
    assert trial.run(mode).offsets[trial.partition(3)] == 1
    assert (4, "b", 4.0) in trial.rows()


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_06_a_partition_that_is_added_while_a_job_runs_joins_it(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    def stop() -> None:
        for query in trial.spark.streams.active:
            query.stop()

    def settle(run: Run, *given: Any) -> None:
        settled(run, *given)
        if run.targets[0].position.seq == 1:
            trial.broker.add_partitions(trial.topic, 4)
            trial.broker.produce(trial.topic, [event(4, "b", 4.0), event(5, "b", 5.0)], partition=3)
        elif run.targets[0].position.offsets.get(trial.partition(3)) == 2:
            threading.Thread(target=stop).start()  # Not from here: it waits for the batch that waits for us.

    settled = Run.settle
    monkeypatch.setattr(Run, "settle", settle)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    driver = trial.driver(mode)
    watchdog = threading.Timer(60, stop)
    watchdog.start()
    if isinstance(driver, Stream):
        driver.follow(Trigger("500 milliseconds"))
    else:
        driver.follow(IdlePolicy(wait_seconds=0.1, give_up_seconds=0.1))
    watchdog.cancel()
    assert trial.position().offsets[trial.partition(3)] == 2
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.0), (4, "b", 4.0), (5, "b", 5.0)}


def test_05_a_recreated_topic_is_refused_although_its_offsets_are_in_range(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.run("stream")
    trial.broker.produce(trial.topic, [event(4, "b", 4.0)], partition=0)
    begun = trial.driver("batch")
    trial.broker.recreate_topic(trial.topic)
    trial.broker.produce(trial.topic, [event(number, "b", 0.0) for number in range(50)], partition=0)
    before = trial.version()
    for mode in ("batch", "stream"):
        with pytest.raises(StateError, match=r"was recreated \(its id is .*submit/epoch\.sh --at beginning"):
            trial.run(mode)
    with pytest.raises(StateError, match=r"was recreated while this job ran.*submit/epoch\.sh --at beginning"):
        drained(begun)
    assert trial.version() == before


def test_04_lost_records_are_named_and_nothing_is_written(trial: Trial) -> None:
    """Before a run, and under a run that has begun: the same words, and the command to go on."""
    lost = (
        f"partition 0 of '{trial.topic}': offset 1 is wanted, 6 is the earliest left, 5 records are lost; "
        r"accept the loss and go on with submit/epoch\.sh --at table"
    )
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.run("batch")
    trial.broker.produce(trial.topic, [event(number, "b", 0.0) for number in range(9)], partition=0)
    begun = [trial.driver(mode) for mode in ("batch", "stream")]
    trial.broker.delete_records(trial.topic, 0, before=6)
    before = trial.version()
    for mode in ("batch", "stream"):
        with pytest.raises(StateError, match=lost):
            trial.run(mode)
    for driver in begun:
        with pytest.raises(StateError, match=lost):
            drained(driver)
    assert trial.version() == before


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_07_a_batch_ends_where_it_was_planned_to(trial: Trial, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """`latest` would be another offset in each of the two actions."""
    counted: list[int] = []

    def validate_batch(context: BatchContext, planned: Plan, rows: ReadRows, events: DataFrame) -> Any:
        counted.append(rows.frame.count())
        trial.broker.produce(trial.topic, [event(4, "b", 4.0)], partition=0)
        return validated(context, planned, rows, events)

    validated = batch.validate_batch
    monkeypatch.setattr(batch, "validate_batch", validate_batch)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    assert trial.run(mode).offsets[trial.partition(0)] == 1
    assert counted == [1]
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0), (3, "b", 3.0)}


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_08_a_batch_is_read_from_kafka_once(trial: Trial, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    """Its records are gone from the topic before it is accounted for or merged: a second read would fail."""

    def account(context: BatchContext, *given: Any) -> Any:
        trial.broker.delete_records(trial.topic, 0, before=3)
        assert context.topic.available().earliest[trial.partition(0)] == 3
        return accounted(context, *given)

    accounted = batch.account
    monkeypatch.setattr(batch, "account", account)
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    assert trial.run(mode).offsets[trial.partition(0)] == 3
    assert trial.rows() == {(1, "a", 1.5), (2, "a", 2.0), (3, "b", 3.0)}
    assert len(trial.quarantined()) == 1


@pytest.mark.parametrize("sequence", ["position", "degrees"])
def test_09_a_key_twice_in_a_batch_is_one_row(trial: Trial, sequence: str) -> None:
    """In a table without any row, where MERGE would insert both, and in one that has the key, where it would fail."""
    trial.pipeline = pipeline(trial.topic, target={"sequence": sequence})
    DeltaTable.forPath(trial.spark, trial.table.uri).delete()
    assert trial.rows() == set()
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), event(3, "b", 3.5), event(4, "b", 4.0)], partition=0)
    trial.run("stream")
    assert trial.rows() == {(3, "b", 3.5), (4, "b", 4.0)}
    trial.broker.produce(trial.topic, [event(3, "b", 5.0), event(3, "b", 6.0)], partition=0)
    trial.run("batch")
    assert trial.rows() == {(3, "b", 6.0), (4, "b", 4.0)}


@pytest.mark.parametrize("sequence", ["position", "degrees"])
def test_16_24_records_that_come_again_change_nothing(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, sequence: str
) -> None:
    """The last records once more, as Debezium sends them after a crash, and one twice, as a producer that retries."""
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    trial.pipeline = pipeline(trial.topic, target={"sequence": sequence})
    records = [event(3, "b", 3.0), event(1, "a", 1.5), event(3, "b", 3.5), event(4, "b", 4.0), event(4, "b", 4.0)]
    trial.broker.produce(trial.topic, records, partition=0)
    trial.run("batch")
    settled = {(1, "a", 1.5), (2, "a", 2.0), (3, "b", 3.5), (4, "b", 4.0)}
    assert trial.rows() == settled
    trial.broker.produce(trial.topic, records[1:], partition=0)
    assert trial.run("batch").offsets[trial.partition(0)] == 9
    assert trial.rows() == settled
    totals = read_report(tmp_path / "reports" / f"{run_id()}.json").totals
    assert (totals.merge, totals.folded) == (3, 1)
    assert (totals.updated, totals.superseded) == ((3, 0) if sequence == "position" else (0, 3))


def test_commits_of_others_lie_between_and_do_no_harm(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    trial.run("stream")
    before = trial.version()
    DeltaTable.forPath(trial.spark, trial.table.uri).update("id = 2", {"degrees": "9"})
    assert trial.version() == before + 1
    trial.broker.produce(trial.topic, [event(4, "b", 4.0)])
    trial.run("stream")
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 9.0), (3, "b", 3.0), (4, "b", 4.0)}


def test_the_copy_answers_when_the_log_entry_has_expired(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    position = trial.run("batch")
    optimized = DeltaTable.forPath(trial.spark, trial.table.uri)
    log = Path(str(trial.table)) / "_delta_log"
    for number in range(2):
        optimized.update("id = 1", {"degrees": f"{number}"})
    trial.spark._jvm.org.apache.spark.sql.delta.DeltaLog.forTable(
        trial.spark._jsparkSession, trial.table.uri
    ).checkpoint()
    for version in range(position.seq + 1):
        (log / f"{version:020d}.json").unlink()
    trial.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    assert trial.position() == position
    shutil.rmtree(Path(str(trial.table)) / "_alluvium")
    with pytest.raises(StateError, match="has expired and its copy is missing"):
        trial.position()


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_broken_record_is_quarantined_and_stops_nothing(trial: Trial, mode: str) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json"), (b"y", None)], partition=1)
    trial.run(mode)
    assert (3, "b", 3.0) in trial.rows()
    assert trial.quarantined() == [
        (1, 1, "NOT_JSON", trial.topic, 1, 1, b"x", b"not json"),
        (1, 1, "NULL_VALUE", trial.topic, 1, 2, b"y", None),
    ]


def test_a_batch_of_nothing_but_bad_records_advances(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [(b"x", b"not json")] * 3, partition=1)
    assert trial.run("batch").offsets[trial.partition(1)] == 3
    assert len(trial.quarantined()) == 3
    assert trial.rows() == {(1, "a", 1.0), (2, "a", 2.0)}


def test_too_many_bad_records_stop_the_pipeline_and_nothing_is_written(trial: Trial) -> None:
    trial.pipeline = pipeline(trial.topic, quality={"max_bad_ratio": 0.5})
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json"), (b"x", b"not json")], partition=1)
    before = trial.version()
    with pytest.raises(TooManyBadRecords, match=r"2 of 3 records would be quarantined, more than max_bad_ratio 0\.5"):
        trial.run("batch")
    assert trial.version() == before
    assert trial.quarantined() == []


def test_an_older_event_never_overwrites_a_newer_one(trial: Trial) -> None:
    trial.pipeline = pipeline(trial.topic, target={"sequence": "degrees"})
    trial.broker.produce(trial.topic, [event(1, "a", 5.0), event(2, "a", 1.0), event(3, "b", 3.0)])
    trial.run("batch")
    trial.broker.produce(trial.topic, [event(1, "a", 4.0), event(3, "b", 6.0)])
    trial.run("stream")
    assert trial.rows() == {(1, "a", 5.0), (2, "a", 2.0), (3, "b", 6.0)}


def test_what_a_dead_run_left_beside_the_table_is_undone(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [(b"x", b"not json")], partition=1)
    trial.run("batch")
    kept = trial.quarantined()
    path = f"{trial.table.uri}_quarantine"
    left = trial.spark.read.format("delta").load(path).withColumn("seq", F.lit(2).cast("bigint"))
    left.write.format("delta").mode("append").save(path)
    assert len(trial.quarantined()) == 2
    trial.run("batch")
    assert trial.quarantined() == kept


def test_a_quiet_topic_is_waited_for_and_given_up(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    start = start_from_table(trial.spark, trial.inputs())
    with capture_logs():
        BatchLoop(trial.spark, start).follow(IdlePolicy(wait_seconds=0.5, give_up_seconds=1.5))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Raw schema from kafka read..."
    assert (
        lines[lines.index("Schema after conversion from value to json dataset...") + 2]
        == " |-- id: long (nullable = true)"
    )
    assert lines[-7:] == [
        "Total number of rows :0",
        "Waiting for 0.5 seconds to see if messages come...",
        "Total number of rows :0",
        "Waiting for 0.5 seconds to see if messages come...",
        "Total number of rows :0",
        "Waiting for 0.5 seconds to see if messages come...",
        "Waiting for 1.5 seconds for messages, aborting...",
    ]
