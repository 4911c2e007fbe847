"""What an operator does with the quarantine: replays in the original order, once, whatever is killed when; discards."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from common.delta.open_ledger import open_ledger
from common.delta.quarantine import Quarantine, Selection
from common.delta.side_tables import WAITING
from common.errors import UsageError
from common.operations.quarantine import QuarantineTarget, discard, open_quarantine, replay, selected_rows, selection_of
from common.operations.replay import Replayer
from common.present.quarantine import print_records, print_summary
from tests.support.commands import clean_environment, complaints, run
from tests.support.remedies import type_command
from tests.support.trial import Trial, event, pipeline

BASE = {(1, "a", 1.0), (2, "a", 2.0)}
COOL = {"rules": [{"name": "cool", "check": "degrees < 10"}]}
WAITS = Selection(state=WAITING)


def place(trial: Trial) -> QuarantineTarget:
    return QuarantineTarget(trial.pipeline, trial.table)


def replayed(trial: Trial, selection: Selection = WAITS, *, overwrite: bool = False, execute: bool = True) -> None:
    replay(trial.spark, place(trial), selection, overwrite=overwrite, execute=execute)


def opened(trial: Trial) -> Quarantine:
    return open_quarantine(trial.spark, place(trial))


def states(trial: Trial) -> dict[tuple[str, str], int]:
    """As the table itself holds them, so that another reader sees the same."""
    rows = trial.spark.read.format("delta").load(f"{trial.table.uri}_quarantine").select("reason", "state").collect()
    return dict(Counter((row["reason"], row["state"]) for row in rows))


def test_10_a_null_key_is_never_inserted_however_often_it_is_replayed(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    trial.broker.produce(trial.topic, [(b"k", b'{"id":null,"part":"b","degrees":3.0}')], partition=0)
    trial.run("stream")
    before = trial.version()
    capsys.readouterr()
    for _ in range(3):
        replayed(trial)
    assert (
        capsys.readouterr().out.splitlines()
        == [
            f"Replay of 1 rows of pipeline 'trial' into {trial.table}:",
            "  1 still bad: NULL_KEY",
            "Nothing can be replayed; every row stays as it is.",
        ]
        * 3
    )
    assert trial.rows() == BASE
    assert trial.version() == before
    assert states(trial) == {("NULL_KEY", "waiting"): 1}


@pytest.mark.long
def test_by_position_only_absent_keys_are_replayed_unless_told_otherwise(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    trial.pipeline = pipeline(trial.topic, quality=COOL)
    hot = [
        event(3, "b", 20.0),
        event(3, "b", 30.0),
        event(1, "a", 40.0),
        event(1, "a", 50.0),
        (b"x\x1b[2J", b"no json"),
    ]
    trial.broker.produce(trial.topic, hot, partition=1)
    trial.run("batch")
    leave_provisional_row(trial)
    assert trial.rows() == BASE
    trial.pipeline = pipeline(trial.topic)
    before = trial.version()
    capsys.readouterr()

    replayed(trial, execute=False)
    plan = [
        f"Replay of 5 rows of pipeline 'trial' into {trial.table}:",
        "  1 merged: valid by today's schema and rules",
        "  1 folded: a newer record of the key is among them",
        "  1 still bad: NOT_JSON",
        "  2 unordered: the key has a row whose order is unknown; --overwrite replaces it, or declare lineage = true",
    ]
    assert capsys.readouterr().out.splitlines() == [*plan, "Nothing was changed; --execute does it."]
    assert trial.version() == before

    replayed(trial)
    assert capsys.readouterr().out.splitlines() == [*plan, "Done: 1 inserted, 0 updated, 0 deleted."]
    assert trial.rows() == BASE | {(3, "b", 30.0)}
    assert states(trial) == {
        ("RULE_cool", "replayed"): 1,
        ("RULE_cool", "folded"): 1,
        ("RULE_cool", "waiting"): 2,
        ("NOT_JSON", "waiting"): 2,
    }
    assert trial.position().seq == 1

    replayed(trial, overwrite=True)
    assert trial.rows() == {(1, "a", 50.0), (2, "a", 2.0), (3, "b", 30.0)}
    capsys.readouterr()

    discard(trial.spark, place(trial), selection_of("NOT_JSON", None, "4", WAITING), execute=True)
    assert capsys.readouterr().out == "Done: 1 rows are marked as discarded; their bytes stay.\n"
    after = trial.version()
    replayed(trial)
    assert capsys.readouterr().out == "Nothing waits in quarantine.\n"
    assert trial.version() == after
    refused(trial)

    print_summary(opened(trial), trial.table)
    lines = [line.split()[:4] for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["reason", "state", "rows", "first"],
        ["NOT_JSON", "discarded", "1", "1:4"],
        ["RULE_cool", "folded", "2", "1:0"],
        ["RULE_cool", "replayed", "2", "1:1"],
    ]
    selection = selection_of("NOT_JSON", None, None, None)
    print_records(*selected_rows(opened(trial), selection), 20, full=False)
    assert capsys.readouterr().out.splitlines()[1:] == [
        "  message  the value is not one JSON text",
        r"  key      b'x\x1b[2J'",
        "  value    b'no json'",
    ]


def leave_provisional_row(trial: Trial) -> None:
    """What a run leaves that dies before its commit."""
    path = f"{trial.table.uri}_quarantine"
    left = (
        trial.spark.read.format("delta")
        .load(path)
        .where("offset = 4")
        .withColumns({"seq": F.lit(2).cast("bigint"), "offset": F.lit(5).cast("bigint")})
    )
    left.write.format("delta").mode("append").save(path)


def refused(trial: Trial) -> None:
    for said, words in [
        (("RULE_col", None, None, WAITING), "no row has reason 'RULE_col'; did you mean 'RULE_cool'"),
        (("RULE_cool", 7, None, WAITING), "no row is selected by --reason RULE_cool --state waiting --partition 7"),
    ]:
        with pytest.raises(UsageError, match=words):
            selected_rows(opened(trial), selection_of(*said))
    with pytest.raises(UsageError, match="no state 'wating'; did you mean 'waiting'"):
        selection_of(None, None, None, "wating")
    with pytest.raises(UsageError, match="--offset '9-3' is not understood"):
        selection_of(None, None, "9-3", None)


def test_a_replay_keeps_the_order_that_the_event_says(trial: Trial) -> None:
    by_degrees = {"sequence": "degrees"}
    odd = {"rules": [{"name": "even", "check": "degrees <> 5"}]}
    trial.pipeline = pipeline(trial.topic, target=by_degrees, quality=odd)
    trial.broker.produce(
        trial.topic, [event(1, "a", 5.0), event(2, "a", 5.0), event(1, "a", 6.0), event(3, "b", 5.0)], partition=0
    )
    trial.run("stream")
    trial.pipeline = pipeline(trial.topic, target=by_degrees)
    replayed(trial)
    assert trial.rows() == {(1, "a", 6.0), (2, "a", 5.0), (3, "b", 5.0)}
    assert states(trial) == {("RULE_even", "superseded"): 1, ("RULE_even", "replayed"): 2}


def test_a_replay_keeps_the_order_that_lineage_says(trial: Trial) -> None:
    lineage = {"lineage": True}
    trial.pipeline = pipeline(trial.topic, target=lineage, quality=COOL)
    trial.broker.produce(trial.topic, [event(1, "a", 20.0), event(1, "a", 5.0), event(3, "b", 5.0)], partition=0)
    trial.broker.produce(trial.topic, [event(3, "b", 30.0), event(2, "a", 40.0)], partition=0)
    topic_id = trial.run("batch").topic_ids[trial.topic]
    trial.pipeline = pipeline(trial.topic, target=lineage)
    replayed(trial)
    assert trial.rows() == {(1, "a", 5.0), (2, "a", 2.0), (3, "b", 30.0)}
    assert states(trial) == {
        ("RULE_cool", "superseded"): 1,
        ("RULE_cool", "replayed"): 1,
        ("RULE_cool", "waiting"): 1,
    }
    row = trial.spark.read.format("delta").load(trial.table.uri).where("id = 3").select("_alluvium").first()
    assert tuple(row["_alluvium"]) == (trial.topic, topic_id, 0, 3, 1, 1)


def test_14_a_replay_does_not_bring_back_what_was_deleted(trial: Trial) -> None:
    deletes = {"null_value": "delete"}
    trial.pipeline = pipeline(trial.topic, source=deletes, quality=COOL)
    gone = (event(3, "b", None)[0], None)
    trial.broker.produce(
        trial.topic, [event(3, "b", 20.0), event(3, "b", 5.0), gone, event(4, "b", 20.0), (b"?", None)], partition=0
    )
    trial.run("batch")
    trial.pipeline = pipeline(trial.topic, source=deletes)
    replayed(trial)
    assert trial.rows() == BASE | {(4, "b", 20.0)}
    assert states(trial) == {
        ("RULE_cool", "superseded"): 1,
        ("RULE_cool", "replayed"): 1,
        ("BAD_KEY", "waiting"): 1,
    }


def test_a_replay_that_dies_is_neither_lost_nor_repeated(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.pipeline = pipeline(trial.topic, quality=COOL)
    trial.broker.produce(trial.topic, [event(3, "b", 20.0), event(4, "b", 30.0)], partition=0)
    trial.run("batch")
    trial.pipeline = pipeline(trial.topic)
    first = selection_of(None, None, "0", WAITING)

    with monkeypatch.context() as dying:
        dying.setattr(Replayer, "_commit", killed)
        with pytest.raises(KeyboardInterrupt):
            replayed(trial, first)
    assert trial.rows() == BASE
    assert effective(trial) == {0: "waiting", 1: "waiting"}

    # The claim that the dead replay left on offset 0 must not come true by another replay's commit.
    with monkeypatch.context() as dying:
        dying.setattr(Quarantine, "settle_claims", second_time_killed(Quarantine.settle_claims))
        with pytest.raises(KeyboardInterrupt):
            replayed(trial, selection_of(None, None, "1", WAITING))
    assert trial.rows() == BASE | {(4, "b", 30.0)}
    assert effective(trial) == {0: "waiting", 1: "replayed"}
    after = trial.version()

    replayed(trial)
    assert trial.rows() == BASE | {(3, "b", 20.0), (4, "b", 30.0)}
    assert trial.version() == after + 1
    assert states(trial) == {("RULE_cool", "replayed"): 2}
    replayed(trial)
    assert trial.version() == after + 1
    assert open_ledger(trial.spark, trial.table.uri, "trial").replays() == 2


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def second_time_killed(real):  # type: ignore[no-untyped-def]
    calls: list[int] = []

    def settle_claims(quarantine: Quarantine) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(quarantine)

    return settle_claims


def effective(trial: Trial) -> dict[int, str]:
    return {row["offset"]: row["state"] for row in opened(trial).rows().collect()}


def test_the_job_from_its_own_script(
    trial: Trial, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The one command that writes is typed; the others are run in this process."""
    columns = 'columns = { id = "bigint", part = "string", degrees = "double" }'
    (tmp_path / "trial.toml").write_text(
        f'[source]\ntopic = "t"\n{columns}\n[target]\nkeys = ["id", "part"]\npartition_by = ["part"]\n'
    )
    environment = {"ALLUVIUM_PIPELINES": str(tmp_path), "ALLUVIUM_LOG_DIR": str(tmp_path / "log")}
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path))

    def quarantine(command: str, *options: str) -> list[str]:
        return ["submit/quarantine.sh", command, str(trial.table.local), "--pipeline", "trial", *options]

    def printed(words: list[str]) -> str:
        capsys.readouterr()
        type_command(words)
        return capsys.readouterr().out

    assert printed(quarantine("list")) == f"Nothing was ever quarantined: there is no {trial.table}_quarantine\n"
    trial.pipeline = pipeline(trial.topic, quality=COOL)
    trial.broker.produce(trial.topic, [event(3, "b", 20.0), (None, b"\xff" * 200)], partition=0)
    trial.run("batch")
    assert "  key      none\n  value    b'" in printed(quarantine("show", "--reason", "NOT_UTF8"))
    done = run(quarantine("replay", "--execute"), environment=clean_environment(**environment))
    assert done.returncode == 0, done.stderr
    assert complaints(done) == []
    assert done.stdout.splitlines()[-1] == "Done: 1 inserted, 0 updated, 0 deleted."
    assert trial.rows() == BASE | {(3, "b", 20.0)}
