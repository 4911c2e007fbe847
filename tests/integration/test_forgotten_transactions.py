"""A table that forgets transactions: the property is refused, and no epoch's number ever comes twice."""

import json
import shutil
from pathlib import Path

import pytest

from common.errors import StateError
from common.operations.base_load import load_base
from common.operations.empty_table import create_table
from common.operations.rewind import act_on_proposal, at_choice
from common.settings.locations import location
from tests.support.shares import first_each_time
from tests.support.trial import Trial, event, pipeline

PROPERTY = "delta.setTransactionRetentionDuration"


def alter(trial: Trial, clause: str) -> None:
    trial.spark.sql(f"ALTER TABLE delta.`{trial.table}` {clause}")


def forget(trial: Trial) -> None:
    """An outsider sets the property, writes a checkpoint, and takes it away again: the transactions are gone."""
    alter(trial, f"SET TBLPROPERTIES ('{PROPERTY}' = 'interval 1 microsecond')")
    delta_log = trial.spark._jvm.org.apache.spark.sql.delta.DeltaLog
    delta_log.forTable(trial.spark._jsparkSession, trial.table.uri).checkpoint()
    alter(trial, f"UNSET TBLPROPERTIES ('{PROPERTY}')")
    delta_log.clearCache()


def begin(trial: Trial, at: str) -> None:
    act_on_proposal(trial.spark, trial.inputs(), at_choice(at), execute=True)


def settle_with_quarantine(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0), (b"x", b"not json")], partition=0)
    assert trial.run("batch").seq == 1


def test_43_a_table_that_forgets_transactions_is_refused(trial: Trial) -> None:
    settle_with_quarantine(trial)
    alter(trial, f"SET TBLPROPERTIES ('{PROPERTY.upper()}' = 'interval 30 days')")
    before = trial.version()
    remedy = rf"submit/alter_table\.sh --execute {trial.table} 'UNSET TBLPROPERTIES \(\"{PROPERTY}\"\)'$"
    for mode in ("batch", "stream"):
        with pytest.raises(StateError, match=remedy):
            trial.run(mode)
    with pytest.raises(StateError, match=remedy):
        begin(trial, "table")
    assert trial.version() == before
    alter(trial, f"UNSET TBLPROPERTIES ('{PROPERTY}')")
    assert trial.run("batch").seq == 1


def test_our_own_commits_say_when_they_were(trial: Trial) -> None:
    """As Delta's own do: to a table that forgets, a transaction without a time is an old one."""
    trial.broker.produce(trial.topic, [(b"x", b"not json")], partition=0)
    trial.run("batch")
    entry = Path(str(trial.table)) / "_delta_log" / f"{1:020d}.json"
    (txn,) = (json.loads(line)["txn"] for line in entry.read_text().splitlines() if line.startswith('{"txn"'))
    assert txn["lastUpdated"] == pytest.approx(entry.stat().st_mtime * 1000, abs=600_000)


@pytest.mark.parametrize("left", first_each_time(["rows beside the table", "a copy", "the log"]))
def test_a_forgotten_epoch_does_not_come_again(trial: Trial, left: str) -> None:
    """Whatever still tells of it. Else the new epoch would take the quarantine of the old one for a dead run's."""
    settle_with_quarantine(trial)
    forget(trial)
    with pytest.raises(StateError, match="has no position of pipeline 'trial'"):
        trial.run("batch")
    if left != "a copy":
        shutil.rmtree(Path(str(trial.table)) / "_alluvium" / "trial")
    if left != "rows beside the table":
        shutil.rmtree(f"{trial.table}_quarantine")
    begin(trial, "end")
    assert (trial.position().epoch, trial.position().seq) == (2, 0)
    trial.run("batch")
    kept = [(1, 1, 1)] if left == "rows beside the table" else []
    assert [(epoch, seq, offset) for epoch, seq, _, _, _, offset, *_ in trial.quarantined()] == kept


def test_a_table_that_is_made_anew_has_an_epoch_of_its_own(trial: Trial, loaded: Path) -> None:
    """Beside it stand the rows of its predecessor."""
    settle_with_quarantine(trial)
    shutil.rmtree(str(trial.table))
    create_table(trial.spark, trial.pipeline, trial.table)
    assert trial.position().epoch == 2
    shutil.rmtree(str(trial.table))
    load_base(trial.spark, trial.pipeline, location(f"{loaded.parent}/base"), trial.table, overwrite=False)
    assert trial.position().epoch == 2
    trial.run("batch")
    assert sorted(row[:2] for row in trial.quarantined()) == [(1, 1), (2, 1)]


def test_a_pipeline_that_makes_its_table_forget_is_refused() -> None:
    with pytest.raises(ValueError, match="would forget its transactions"):
        pipeline("any", target={"properties": {PROPERTY.upper(): "interval 30 days"}})
