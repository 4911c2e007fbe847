"""run_batch under faults: rivals, lost answers, failed commits, gaps, and bugs planted to see the accounts fail."""

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from delta.exceptions import ConcurrentAppendException
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from common.account.tally import AccountingError
from common.account.times import StageTimes
from common.drivers.batch_loop import BatchLoop
from common.drivers.start import Inputs, start_from_table
from common.errors import ConfigurationError, StateError, UsageError
from common.pipeline import batch, commit
from common.pipeline.base_load import load_base
from common.plan.broker import Topic
from common.plan.offsets import Plan
from common.read.kafka import read_range
from common.settings.locations import location
from tests.support.broker import Broker
from tests.support.trial import Trial, event, pipeline

BASE = {(1, "a", 1.0), (2, "a", 2.0)}


def loop(trial: Trial) -> BatchLoop:
    topic = Topic(trial.broker.address, trial.topic)
    return BatchLoop(trial.spark, start_from_table(trial.spark, Inputs(trial.pipeline, trial.table, topic)))


def once_failing(real: Callable[..., None], error: Exception, *, after: bool) -> Callable[..., None]:
    """The real function, but the first call fails: before it has done its work, or after."""
    calls: list[int] = []

    def wrapped(*args: object) -> None:
        calls.append(1)
        if len(calls) == 1 and not after:
            raise error
        real(*args)
        if len(calls) == 1:
            raise error

    return wrapped


def test_02_a_commit_whose_answer_is_lost_is_not_applied_twice(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "write", once_failing(commit.write, PySparkException("lost"), after=True))
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    assert trial.run("batch").seq == 1
    assert trial.rows() == BASE | {(3, "b", 3.0)}
    assert trial.version() == 1


def test_30_a_conflict_is_tried_again_with_the_same_rows(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    conflict = ConcurrentAppendException("a file was added")
    monkeypatch.setattr(commit, "merge_latest", once_failing(commit.merge_latest, conflict, after=False))
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    assert trial.run("batch").seq == 1
    assert trial.rows() == BASE | {(3, "b", 3.0)}


def test_a_commit_that_fails_leaves_nothing_beside_the_table(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "write", once_failing(commit.write, PySparkException("no space"), after=False))
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    with pytest.raises(PySparkException, match="no space"):
        trial.run("batch")
    assert trial.quarantined() == []
    trial.run("batch")
    assert len(trial.quarantined()) == 1
    assert trial.rows() == BASE | {(3, "b", 3.0)}


def test_34_a_rival_under_the_same_transaction_is_noticed(trial: Trial) -> None:
    """What the lock prevents on a local file system, and nothing does elsewhere."""
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    slow = loop(trial)
    trial.run("batch")
    with pytest.raises(StateError, match="position moved to epoch 1, transaction 1 while this job ran"):
        slow.drain()
    assert trial.version() == 1


def test_a_key_in_two_partitions_is_refused_naming_both(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.broker.produce(trial.topic, [event(3, "b", 4.0)], partition=2)
    with pytest.raises(StateError, match="key id=3, part=b came from partitions 0 and 2"):
        trial.run("batch")
    assert trial.version() == 0


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_21_22_aborted_records_are_not_read_and_gaps_are_no_loss(trial: Trial, mode: str) -> None:
    producer = Producer({"bootstrap.servers": trial.broker.address, "transactional.id": trial.topic})
    producer.init_transactions(30)
    for number, ends in enumerate(
        [producer.commit_transaction, producer.abort_transaction, producer.commit_transaction]
    ):
        producer.begin_transaction()
        key, value = event(10 + number, "b", 0.0)
        producer.produce(trial.topic, key=key, value=value, partition=0)
        producer.flush(30)
        ends(30)
    position = trial.run(mode)
    assert trial.rows() == BASE | {(10, "b", 0.0), (12, "b", 0.0)}
    assert position.offsets[0] == 6


def planted(trial: Trial, bug: Callable[[DataFrame], DataFrame]) -> None:
    """One batch of four records whose rows went through a bug on their way."""
    trial.broker.produce(trial.topic, [event(number, "b", 0.0) for number in range(4)], partition=0)
    topic = Topic(trial.broker.address, trial.topic)
    start = start_from_table(trial.spark, Inputs(trial.pipeline, trial.table, topic))
    planned = Plan({0: 0}, {0: 4})
    rows = bug(read_range(trial.spark, topic.brokers, topic.name, planned))
    batch.run_batch(start.settling, start.position, planned, rows, StageTimes())


@pytest.mark.parametrize(
    ("bug", "said"),
    [
        (lambda rows: rows.where("offset != 2"), "offset 2 is in the log and was not read"),
        (lambda rows: rows.where("offset < 3"), "offset 3 is in the log and was not read"),
        (lambda rows: rows.union(rows.where("offset = 1")), "5 rows have 4 offsets"),
        (lambda rows: rows.selectExpr("* EXCEPT (offset)", "offset + 1 AS offset"), "are not in the plan"),
    ],
)
def test_a_planted_bug_in_reading_unbalances_the_accounts(
    trial: Trial, bug: Callable[[DataFrame], DataFrame], said: str
) -> None:
    with pytest.raises(AccountingError, match=said):
        planted(trial, bug)
    assert trial.version() == 0


def test_a_path_is_taken_as_it_stands(
    spark: SparkSession, broker: Broker, topic: str, tmp_path: Path, loaded: Path
) -> None:
    trial = Trial(spark, broker, topic, tmp_path / "ä b%20", loaded)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    trial.run("stream")
    assert trial.rows() == BASE | {(3, "b", 3.0)}
    assert sorted(path.name for path in (tmp_path / "ä b%20").iterdir()) == ["table", "table_quarantine"]


@pytest.mark.parametrize(("rows", "said"), [([(1, "a"), (1, "a")], "stands twice"), ([(None, "a")], "has a null")])
def test_a_base_with_unclear_keys_is_refused(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[int | None, str]], said: str
) -> None:
    spark.createDataFrame([(*row, 1.0) for row in rows], "id bigint, part string, degrees double").write.parquet(
        f"{tmp_path}/in"
    )
    with pytest.raises(UsageError, match=said):
        load_base(spark, pipeline("t"), location(f"{tmp_path}/in"), location(f"{tmp_path}/out"), overwrite=False)
    assert not (tmp_path / "out").exists()


def test_sql_that_spark_does_not_understand_is_the_files_fault(trial: Trial) -> None:
    trial.pipeline = pipeline(trial.topic, quality={"rules": [{"name": "odd", "check": "no_such_column > 1"}]})
    with pytest.raises(ConfigurationError, match=r"pipeline 'trial': .*no_such_column"):
        trial.run("batch")
