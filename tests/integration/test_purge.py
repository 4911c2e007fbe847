"""The memory of deletes: what nothing can contradict any more is forgotten, and nothing else."""

import pytest
from delta.tables import DeltaTable

from common.operations.maintenance import purge_deleted_keys
from common.operations.purge import needed_seconds
from tests.support.trial import Trial, event, pipeline, tombstone

LONG_AGO = "timestamp '2020-01-01 00:00:00'"


@pytest.fixture
def deleting(trial: Trial) -> Trial:
    """Two deletes, of which the first is years old; between them a record that cannot be read."""
    trial.pipeline = pipeline(trial.topic, source={"null_value": "delete"}, target={"lineage": True})
    trial.broker.produce(trial.topic, [tombstone(1, "a")], partition=0)
    trial.run("batch")
    DeltaTable.forPath(trial.spark, path(trial)).update(set={"timestamp": LONG_AGO})
    trial.broker.produce(trial.topic, [tombstone(2, "a")], partition=0)
    trial.run("batch")
    return trial


def path(trial: Trial) -> str:
    return f"{trial.table.uri}_deleted_keys"


def remembered(trial: Trial) -> list[int]:
    rows = trial.spark.read.format("delta").load(path(trial)).orderBy("key.id").collect()
    return [row["key"]["id"] for row in rows]


def test_old_deletes_are_forgotten_and_young_ones_kept(deleting: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    purge_deleted_keys(deleting.spark, deleting.inputs(), execute=False)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "1 of 2 remembered deletes are no longer needed; they are kept for 7d",
        "Nothing was changed; --execute does it.",
    ]
    assert remembered(deleting) == [1, 2]
    purge_deleted_keys(deleting.spark, deleting.inputs(), execute=True)
    assert remembered(deleting) == [2]
    deleting.broker.produce(deleting.topic, [tombstone(1, "a")], partition=0)
    deleting.run("batch")
    assert remembered(deleting) == [1, 2]


def test_a_delete_is_kept_while_something_older_is_in_quarantine(trial: Trial) -> None:
    """Once the record is readable, its replay would bring the row back."""
    trial.pipeline = pipeline(trial.topic, source={"null_value": "delete"}, target={"lineage": True})
    trial.broker.produce(trial.topic, [(event(1, "a", 0.0)[0], b"not json"), tombstone(1, "a")], partition=0)
    trial.run("batch")
    DeltaTable.forPath(trial.spark, path(trial)).update(set={"timestamp": LONG_AGO})
    purge_deleted_keys(trial.spark, trial.inputs(), execute=True)
    assert remembered(trial) == [1]
    DeltaTable.forPath(trial.spark, f"{trial.table.uri}_quarantine").delete()
    purge_deleted_keys(trial.spark, trial.inputs(), execute=True)
    assert remembered(trial) == []


def test_nothing_was_ever_deleted(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    purge_deleted_keys(trial.spark, trial.inputs(), execute=True)
    assert "there is nothing to forget" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"cleanup.policy": "delete", "retention.ms": "5000"}, 86_400.0),
        ({"cleanup.policy": "delete", "retention.ms": "172800000"}, 172_800.0),
        ({"cleanup.policy": "compact,delete", "retention.ms": "5000", "delete.retention.ms": "172800000"}, 172_800.0),
        ({"cleanup.policy": "delete", "retention.ms": "-1"}, float("inf")),
        ({}, float("inf")),
    ],
)
def test_the_longer_of_the_topics_memory_and_the_late_bound_counts(settings: dict[str, str], wanted: float) -> None:
    declared = pipeline(
        "t",
        source={"columns": {"id": "bigint", "part": "string", "at": "timestamp"}},
        late={"column": "at", "bound": "1d"},
    )
    assert needed_seconds(settings, declared) == wanted
