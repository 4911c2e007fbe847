"""Epochs and rewinds: the plan first, and only with --execute the act."""

import pytest
from delta.tables import DeltaTable

from common.delta.open_ledger import open_ledger
from common.errors import AlluviumError, StateError, UsageError
from common.operations.rewind import Choice, act_on_epoch, act_on_proposal, at_choice, parse_duration, rewind_choice
from tests.support.trial import Trial, event, pipeline


def act(trial: Trial, choice: Choice, *, execute: bool = True) -> None:
    act_on_proposal(trial.spark, trial.inputs(), choice, execute=execute)


def rewind(**said: str | bool) -> Choice:
    nothing: dict[str, str | bool | None] = {"to_time": None, "to_offset": None, "by": None, "to_beginning": False}
    return rewind_choice(**(nothing | said))  # type: ignore[arg-type]


def test_a_plan_changes_nothing_and_says_what_it_means(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    trial.broker.produce(trial.topic, [event(number, "b", 0.0) for number in range(5)], partition=0)
    trial.run("batch")
    before = trial.version()
    capsys.readouterr()
    act(trial, rewind(to_offset="0=2"), execute=False)
    assert capsys.readouterr().out.splitlines() == [
        f"Epoch 2 of pipeline 'trial' on topic '{trial.topic}':",
        "  partition 0: 5 to 2, 3 read again",
        "  partition 1: 0 to 0, as it stands",
        "  partition 2: 0 to 0, as it stands",
        "Nothing was changed; --execute does it.",
    ]
    assert trial.version() == before


def test_a_rewind_reads_again_and_the_rows_stay_the_same(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(number, "b", float(number)) for number in range(5)], partition=0)
    trial.run("batch")
    settled = trial.rows()
    act(trial, rewind(to_beginning=True))
    assert (trial.position().epoch, trial.position().seq, trial.position().offsets[trial.partition(0)]) == (2, 0, 0)
    assert trial.run("stream").offsets[trial.partition(0)] == 5
    assert trial.rows() == settled


def test_04_a_loss_is_accepted_by_going_on_at_what_is_left(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.run("batch")
    trial.broker.produce(trial.topic, [event(number, "b", 0.0) for number in range(10, 16)], partition=0)
    trial.broker.delete_records(trial.topic, 0, before=5)
    act(trial, at_choice("table"))
    trial.run("batch")
    assert {number for number, _, _ in trial.rows()} == {1, 2, 3, 14, 15}


def test_03_after_a_restore_a_new_epoch_reads_again_what_is_gone(trial: Trial) -> None:
    """The restored table still has the transaction: under the old epoch, Delta would skip the batch as a replay."""
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), event(1, "a", 1.5)], partition=0)
    trial.run("batch")
    trial.broker.produce(trial.topic, [event(4, "b", 4.0), event(1, "a", 1.75)], partition=0)
    trial.run("batch")
    settled = trial.rows()
    DeltaTable.forPath(trial.spark, trial.table.uri).restoreToVersion(1)
    assert trial.rows() == {(1, "a", 1.5), (2, "a", 2.0), (3, "b", 3.0)}
    for mode in ("batch", "stream"):
        with pytest.raises(StateError, match=r"RESTORE.*replaced rows.*submit/epoch\.sh --at table"):
            trial.run(mode)
    act(trial, at_choice("table"))
    assert (trial.position().epoch, trial.position().seq, trial.position().offsets[trial.partition(0)]) == (2, 0, 2)
    assert trial.run("stream").seq == 1
    assert trial.rows() == settled


def test_05_a_recreated_topic_begins_anew(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    trial.run("batch")
    trial.broker.recreate_topic(trial.topic)
    trial.broker.produce(trial.topic, [event(5, "b", 5.0)])
    with pytest.raises(UsageError, match=r"in another topic; say where to begin: submit/epoch\.sh --at beginning"):
        act(trial, at_choice("table"))
    act(trial, at_choice("beginning"))
    trial.run("stream")
    assert {number for number, _, _ in trial.rows()} == {1, 2, 3, 5}


def test_a_table_of_another_writer_is_adopted(trial: Trial) -> None:
    rows = trial.spark.read.format("delta").load(trial.table.uri)
    rows.write.format("delta").partitionBy("part").save(f"{trial.table.uri}-other")
    trial.table = type(trial.table)(f"{trial.table.uri}-other", None)
    with pytest.raises(StateError, match=r"has no position of pipeline 'trial'.*submit/epoch\.sh"):
        trial.position()
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    act(trial, at_choice("end"))
    trial.broker.produce(trial.topic, [event(4, "b", 4.0)])
    trial.run("batch")
    assert {number for number, _, _ in trial.rows()} == {1, 2, 4}


@pytest.mark.parametrize(
    ("columns", "difference"),
    [
        ({"id": "bigint", "part": "string", "place": "string"}, "column 'place' is missing, and a key"),
        ({"id": "bigint", "part": "bigint"}, "column 'part' is string, not bigint"),
        ({"ID": "int", "part": "string", "wind": "double"}, None),
    ],
)
def test_a_table_whose_columns_do_not_fit_is_not_adopted(
    trial: Trial, columns: dict[str, str], difference: str | None
) -> None:
    """What can be reconciled is left to the run: names that differ by case, a wider type, a column that is no key."""
    before = trial.version()
    keys = [name for name in columns if name != "wind"]
    target = {"keys": keys, "schema_changes": {"undeclared": "keep"}}
    declared = pipeline(trial.topic, source={"columns": columns}, target=target)
    trial.pipeline = declared.model_copy(update={"name": "other"})
    with pytest.raises(AlluviumError) as refused:
        act_on_epoch(trial.spark, trial.inputs(), "beginning", adopt=False, execute=True)
    assert trial.version() == before
    if difference is not None:
        whose = f"does not fit pipeline 'other': {difference}; pipeline 'trial' (epoch 1) writes it; name the"
        assert whose in str(refused.value)
        return
    assert "has positions of pipeline 'trial' (epoch 1) and none of 'other'" in str(refused.value)
    act_on_epoch(trial.spark, trial.inputs(), "beginning", adopt=True, execute=True)
    assert trial.position().epoch == open_ledger(trial.spark, trial.table.uri, "other").position().epoch == 1


def test_offsets_that_the_topic_does_not_have_are_refused(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.run("batch")
    with pytest.raises(UsageError, match=r"partition 0 of '.*' has no offset 9"):
        act(trial, rewind(to_offset="0=9"))
    with pytest.raises(UsageError, match=r"partition 7 of '.*' has no offset 0"):
        act(trial, rewind(to_offset="7=0"))


def test_a_time_before_every_record_is_the_beginning(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=0)
    trial.run("batch")
    act(trial, rewind(to_time="2020-01-01"))
    assert trial.position().offsets[trial.partition(0)] == 0
    act(trial, rewind(to_time="2100-01-01"))
    assert trial.position().offsets[trial.partition(0)] == 1


@pytest.mark.parametrize("said", [{}, {"by": "1h", "to_beginning": True}])
def test_exactly_one_place_is_said(said: dict[str, str | bool]) -> None:
    with pytest.raises(UsageError, match="say exactly one of --to-time, --to-offset, --by, --to-beginning"):
        rewind(**said)


@pytest.mark.parametrize(
    "said",
    [{"to_time": "tomorrow"}, {"to_offset": "1:2"}, {"by": "2 weeks"}, {"by": "9999999d"}, {"to_time": ""}, {"by": ""}],
)
def test_what_is_not_understood_is_named(said: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=f"'{next(iter(said.values()))}'"):
        rewind(**said)


def test_durations() -> None:
    assert [parse_duration(text).total_seconds() for text in ("90s", "30m", "12h", "7d")] == [90, 1800, 43200, 604800]
