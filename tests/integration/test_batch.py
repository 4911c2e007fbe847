"""run_batch under faults: rivals, lost answers, failed commits, gaps."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from delta.exceptions import ConcurrentAppendException, ConcurrentTransactionException
from delta.tables import DeltaTable
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from structlog.testing import capture_logs

from common.delta.empty_commit import commit_empty
from common.delta.lock import job_lock
from common.delta.open_ledger import transaction
from common.engine import commit
from common.errors import ConfigurationError, StateError, UsageError
from common.merge import delta_merge
from common.operations import base_load
from common.operations.base_load import load_base
from common.operations.empty_table import create_table
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from common.spark.expressions import check_expressions
from tests.support.broker import Broker
from tests.support.frames import frame
from tests.support.partitions import numbered, of_topic
from tests.support.rival import Rival
from tests.support.trial import Trial, drained, event, pipeline
from tests.support.waiting import await_true

BASE = {(1, "a", 1.0), (2, "a", 2.0)}


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


def test_a_commit_that_fails_leaves_nothing_beside_the_table(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commit, "write", once_failing(commit.write, PySparkException("no space"), after=False))
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    with pytest.raises(PySparkException, match="no space"):
        trial.run("batch")
    assert trial.quarantined() == []
    trial.run("batch")
    assert len(trial.quarantined()) == 1
    assert trial.rows() == BASE | {(3, "b", 3.0)}


def meeting(trial: Trial, folder: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> Rival:
    """Somebody else's commit in the midst of this trial's first MERGE."""
    rival = Rival(folder / "rival", act)
    real = delta_merge.merge_changes
    attempts: list[int] = []

    def merge_changes(table: DeltaTable, changes: DataFrame, *given: Any) -> None:
        attempts.append(1)
        real(table, rival.meets(changes) if len(attempts) == 1 else changes, *given)

    monkeypatch.setattr(delta_merge, "merge_changes", merge_changes)
    return rival


@pytest.mark.usefixtures("by_merge")
def test_30_optimize_wins_and_the_same_rows_are_merged_after_it(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real one, which rewrites the very file that the MERGE has read."""
    table = DeltaTable.forPath(trial.spark, trial.table.uri)
    rival = meeting(trial, tmp_path, monkeypatch, lambda: table.optimize().executeZOrderBy("degrees") and None)
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    with capture_logs() as logs:
        assert trial.run("batch").seq == 1
    assert rival.acted()
    assert [(line["attempt"], line["log_level"]) for line in logs if "another writer" in line["event"]] == [
        (1, "warning")
    ]
    assert [row["operation"] for row in table.history().orderBy("version").collect()][1:] == ["OPTIMIZE", "MERGE"]
    assert trial.rows() == {(1, "a", 1.5), (2, "a", 2.0), (3, "b", 3.0)}
    assert len(trial.quarantined()) == 1


@pytest.mark.usefixtures("by_merge")
def test_30_the_retries_have_an_end(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(*_: object) -> None:
        attempts.append(1)
        raise ConcurrentAppendException("a file was added")

    attempts: list[int] = []
    monkeypatch.setattr(delta_merge, "merge_changes", conflict)
    trial.limits = replace(trial.limits, first_pause_seconds=0.001)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    with pytest.raises(ConcurrentAppendException):
        trial.run("batch")
    assert len(attempts) == trial.limits.commit_attempts
    assert (trial.version(), trial.quarantined()) == (0, [])


def test_34_a_rival_under_the_same_transaction_is_noticed(trial: Trial) -> None:
    """What the lock prevents on a local file system, and nothing does elsewhere."""
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    slow = trial.driver("batch")
    trial.run("batch")
    with pytest.raises(StateError, match="position moved to epoch 1, transaction 1 while this job ran"):
        drained(slow)
    assert trial.version() == 1


@pytest.mark.usefixtures("by_merge")
def test_34_a_rival_in_the_midst_of_the_merge_meets_the_fence(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta lets one of two writers of the same transaction pass; the other commits nothing, and says why."""

    def act() -> None:
        session = trial.spark.newSession()
        ends = of_topic(trial.topic, {0: 1, 1: 0, 2: 0})
        theirs = replace(trial.position().advanced({trial.topic: "an id"}, ends), run="a rival")
        with transaction(session, theirs):
            commit_empty(session, trial.table.uri)

    rival = meeting(trial, tmp_path, monkeypatch, act)
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    with pytest.raises(StateError, match=r"position moved to epoch 1, transaction 1.*run one job a table") as raised:
        trial.run("batch")
    assert isinstance(raised.value.__context__, ConcurrentTransactionException)
    assert rival.acted()
    assert trial.version() == 1
    assert trial.rows() == BASE


def test_a_key_in_two_partitions_is_refused_naming_both(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.broker.produce(trial.topic, [event(3, "b", 4.0)], partition=2)
    with pytest.raises(StateError, match="key id=3, part=b came from partitions 0 and 2"):
        trial.run("batch")
    assert trial.version() == 0


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_21_22_aborted_records_are_not_read_and_gaps_are_no_loss(trial: Trial, mode: str) -> None:
    trial.broker.produce_in_transactions(trial.topic, [event(10 + number, "b", 0.0) for number in range(3)], "cac")
    position = trial.run(mode)
    assert trial.rows() == BASE | {(10, "b", 0.0), (12, "b", 0.0)}
    assert position.offsets[trial.partition(0)] == 6


def test_22_what_compaction_has_removed_is_no_loss(trial: Trial) -> None:
    """A key's older records are gone from the midst of the log: a gap, and counted as one."""
    trial.topic = trial.broker.create_topic(
        partitions=1,
        config={"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"},
    )
    trial.broker.quicken_compaction()
    trial.pipeline = pipeline(trial.topic)
    heavy = [event(3, "b", float(number), note="x" * 400_000) for number in range(4)]
    trial.broker.produce(trial.topic, [event(4, "b", 4.0), *heavy, event(5, "b", 5.0)])
    await_true(lambda: trial.broker.offsets_of(trial.topic, 0) != list(range(6)), "the compaction", pause=0.2)
    kept = trial.broker.offsets_of(trial.topic, 0)
    assert len(kept) < 6
    assert kept[0] == 0
    assert kept[-1] == 5
    with capture_logs() as logs:
        assert numbered(trial.run("batch").offsets) == {0: 6}
    assert [line["gaps"] for line in logs if line["event"] == "settled"] == [6 - len(kept)]
    assert trial.rows() == BASE | {(3, "b", 3.0), (4, "b", 4.0), (5, "b", 5.0)}


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
    frame(spark, [(*row, 1.0) for row in rows], "id bigint, part string, degrees double").write.parquet(
        f"{tmp_path}/in"
    )
    with pytest.raises(UsageError, match=said):
        load_base(spark, pipeline("t"), location(f"{tmp_path}/in"), location(f"{tmp_path}/out"), overwrite=False)
    assert not (tmp_path / "out").exists()


def test_a_base_load_that_ends_in_the_midst_leaves_nothing_and_can_be_repeated(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail_for_one_part(session: SparkSession, declared: Pipeline, rows: DataFrame, *given: Any, **more: Any) -> None:
        planted = "CASE WHEN part = 'b' THEN cast(raise_error('planted') AS double) ELSE degrees END"
        written(session, declared, rows.withColumn("degrees", F.expr(planted)), *given, **more)

    written = base_load.write_first
    frame(spark, [(1, "a", 1.0), (2, "b", 2.0)], "id bigint, part string, degrees double").write.parquet(
        f"{tmp_path}/base"
    )
    source, table = location(f"{tmp_path}/base"), location(f"{tmp_path}/table")
    with monkeypatch.context() as planted:
        planted.setattr(base_load, "write_first", fail_for_one_part)
        with pytest.raises(PySparkException, match="planted"), job_lock(table):
            base_load.load_base(spark, pipeline("any"), source, table, overwrite=False)
    assert not (tmp_path / "table").exists()
    base_load.refuse_existing(table, overwrite=False)
    assert base_load.load_base(spark, pipeline("any"), source, table, overwrite=False) == 2


def test_sql_that_spark_does_not_understand_is_the_files_fault(trial: Trial) -> None:
    trial.pipeline = pipeline(trial.topic, quality={"rules": [{"name": "odd", "check": "no_such_column > 1"}]})
    with pytest.raises(ConfigurationError, match=r"pipeline 'trial': .*no_such_column"):
        trial.run("batch")


@pytest.mark.parametrize(
    "sql", ["rand()", "rand(7)", "uuid()", "now()", "current_timestamp()", "current_date()", "unix_timestamp()"]
)
def test_08_sql_that_gives_another_value_at_each_run_is_refused(spark: SparkSession, sql: str) -> None:
    for parts, place in [
        ({"target": {"derived": {"seen": f"concat(part, {sql})"}}}, "target.derived.seen"),
        ({"quality": {"rules": [{"name": "fresh", "check": f"cast({sql} AS string) > part"}]}}, "quality.rules.fresh"),
    ]:
        with pytest.raises(
            ConfigurationError, match=rf"pipeline 'trial': {place} = '.*' gives another value"
        ) as raised:
            check_expressions(spark, pipeline("t", **parts))
        assert "\n" not in str(raised.value)


def test_08_sql_of_the_event_alone_is_welcome(spark: SparkSession) -> None:
    check_expressions(
        spark,
        pipeline(
            "t",
            target={"derived": {"month": "substring(part, 1, 7)", "at": "to_timestamp(part)"}},
            quality={"rules": [{"name": "young", "check": "at > timestamp'2020-01-01' AND month IS NOT NULL"}]},
        ),
    )


def test_an_equal_sequence_never_replaces_a_row(trial: Trial, tmp_path: Path) -> None:
    """Across batches as inside of one: only a greater sequence replaces the row of its key."""
    columns = {"id": "bigint", "part": "string", "degrees": "double", "version": "int"}
    trial.pipeline = pipeline(trial.topic, source={"columns": columns}, target={"sequence": "version"})
    trial.table = location(str(tmp_path / "new"))
    create_table(trial.spark, trial.pipeline, trial.table)
    for degrees, version in ((1.0, 5), (2.0, 5), (3.0, 4)):
        key, value = event(1, "a", degrees)
        trial.broker.produce(trial.topic, [(key, value[:-1] + b', "version": %d}' % version)], partition=0)
        trial.run("batch")
        assert trial.rows() == {(1, "a", 1.0)}
    trial.broker.produce(trial.topic, [(key, value[:-1] + b', "version": 6}')], partition=0)
    trial.run("batch")
    assert trial.rows() == {(1, "a", 3.0)}
