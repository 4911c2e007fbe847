"""Several topics and several tables in one run: each table with its own commits and its own position."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from common.drivers.batch_loop import BatchLoop
from common.drivers.stream import Stream
from common.engine import source
from common.engine.run_report import read_report
from common.engine.start import Inputs, start_from_table
from common.errors import StateError
from common.merge.request import MergeRequest
from common.merge.strategy import MergeStrategy
from common.model.limits import Limits
from common.model.offsets import TopicPartition
from common.model.position import Position
from common.operations.rewind import act_on_proposal, at_choice, rewind_choice
from common.settings.locations import location
from tests.support.trial import BASE, Rows, Trial, drained, event

MODES = ["batch", "stream"]
FAILURE = "the disk of this table is gone"


class Failing:
    """A strategy of a table that cannot be written."""

    name = "failing"

    def prepare(self, _: MergeRequest) -> MergeStrategy:
        raise StateError(FAILURE, "bring it back")


@pytest.fixture
def second(trial: Trial, loaded: Path, tmp_path: Path) -> Inputs:
    """Another table for the same records, by another pipeline."""
    shutil.copytree(loaded, tmp_path / "second")
    table, inputs = location(str(tmp_path / "second")), trial.inputs()
    other = inputs.pipeline.model_copy(update={"name": "other"})
    act_on_proposal(trial.spark, replace(inputs, pipeline=other, table=table), at_choice("beginning"), execute=True)
    return replace(inputs, pipeline=other, table=table)


def run_both(trial: Trial, second: Inputs, mode: str) -> list[Position]:
    starts = [start_from_table(trial.spark, replace(each, topic=second.topic)) for each in (trial.inputs(), second)]
    driver = Stream(trial.spark, *starts) if mode == "stream" else BatchLoop(trial.spark, *starts)
    drained(driver)
    return [target.position for target in driver.run.targets]


def rows_of(trial: Trial, inputs: Inputs) -> Rows:
    return replace_table(trial, inputs).rows()


def replace_table(trial: Trial, inputs: Inputs) -> Trial:
    other = object.__new__(Trial)
    other.__dict__.update(trial.__dict__ | {"table": inputs.table})
    return other


@pytest.mark.parametrize("mode", MODES)
def test_one_read_feeds_two_tables_each_with_its_own_transaction(
    trial: Trial, second: Inputs, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    reads = []
    fetch = source.fetched_dataframe
    monkeypatch.setattr(source, "fetched_dataframe", lambda *given: reads.append(given) or fetch(*given))
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(3, "b", 3.0)])
    positions = run_both(trial, second, mode)
    assert [each.app_id for each in positions] == ["alluvium:trial:1", "alluvium:other:1"]
    assert [sum(each.offsets.values()) for each in positions] == [2, 2]
    assert trial.rows() == rows_of(trial, second) == {*BASE[1:], (1, "a", 1.5), (3, "b", 3.0)}
    assert len(reads) == 1


@pytest.mark.parametrize("mode", MODES)
def test_what_spark_reads_is_read_once_for_both_tables(trial: Trial, second: Inputs, mode: str) -> None:
    """Records that the driver does not fetch. Spark would read the topic again for the second table."""
    trial.limits = Limits(fetched_records=0)
    trial.broker.produce(trial.topic, [event(number, "b", float(number)) for number in range(10, 60)])
    positions = run_both(trial, replace(second, limits=trial.limits), mode)
    assert [sum(each.offsets.values()) for each in positions] == [50, 50]
    assert trial.rows() == rows_of(trial, second)
    assert len(trial.rows()) == 52


@pytest.mark.parametrize("mode", MODES)
def test_a_table_that_was_left_behind_is_brought_to_the_other_first(trial: Trial, second: Inputs, mode: str) -> None:
    trial.broker.produce(trial.topic, [event(1, "a", 1.5)], partition=0)
    run_both(trial, second, mode)
    trial.broker.produce(trial.topic, [event(1, "a", 1.6), event(3, "a", 3.0)], partition=0)
    with pytest.raises(StateError, match=FAILURE):
        run_both(trial, replace(second, strategies=(Failing(),)), mode)
    assert (1, "a", 1.6) in trial.rows()
    assert (1, "a", 1.5) in rows_of(trial, second)
    trial.broker.produce(trial.topic, [event(3, "a", 3.5)], partition=0)
    one, other = run_both(trial, second, mode)
    assert one.offsets == other.offsets
    # The second table has one transaction for what it had missed, and shares the next one.
    assert (one.seq, other.seq) == (3, 3)
    assert trial.rows() == rows_of(trial, second) == {*BASE[1:], (1, "a", 1.6), (3, "a", 3.5)}


@pytest.mark.parametrize("mode", MODES)
def test_a_table_of_two_topics_knows_its_place_in_both(trial: Trial, mode: str) -> None:
    first, further = trial.topic, trial.broker.create_topic(partitions=1)
    trial.broker.produce(first, [event(1, "a", 1.5)], partition=0)
    assert json.loads(trial.run(mode).to_metadata())["alluvium"] == 1
    trial.topic = f"{first},{further}"
    trial.broker.produce(first, [event(2, "a", 2.5)], partition=0)
    trial.broker.produce(further, [event(3, "b", 3.0), event(4, "b", 4.0)])
    position = trial.run(mode)
    assert position.offsets[TopicPartition(first, 0)] == 2
    assert position.offsets[TopicPartition(further, 0)] == 2
    metadata = json.loads(position.to_metadata())
    assert metadata["alluvium"] == 2
    assert metadata["topics"][further] == {"id": position.topic_ids[further], "offsets": {"0": 2}}
    assert trial.rows() == {(1, "a", 1.5), (2, "a", 2.5), (3, "b", 3.0), (4, "b", 4.0)}
    # Once more, by the other driver, from what the table says.
    trial.broker.produce(further, [event(3, "b", 3.5)])
    assert sum(trial.run({"batch": "stream", "stream": "batch"}[mode]).offsets.values()) == 5
    assert (3, "b", 3.5) in trial.rows()


def test_a_topic_that_the_table_has_read_is_not_left_out_in_silence(trial: Trial) -> None:
    first, further = trial.topic, trial.broker.create_topic(partitions=1)
    trial.topic = f"{first},{further}"
    trial.broker.produce(further, [event(3, "b", 3.0)])
    trial.run("batch")
    trial.topic = first
    with pytest.raises(StateError, match=rf"topic '{first}' is not '{further}', which the table has read"):
        trial.run("batch")


@pytest.mark.parametrize("mode", MODES)
def test_side_tables_name_the_topic_and_its_id(trial: Trial, mode: str) -> None:
    first, further = trial.topic, trial.broker.create_topic(partitions=1)
    trial.topic = f"{first},{further}"
    trial.pipeline = trial.pipeline.model_copy(
        update={"target": trial.pipeline.target.model_copy(update={"lineage": True})}
    )
    trial.broker.produce(first, [(b"k", b"{"), event(3, "b", 3.0)], partition=0)
    trial.broker.produce(further, [(b"k", b"["), event(4, "b", 4.0)])
    ids = trial.run(mode).topic_ids
    assert {(row[3], row[5]) for row in trial.quarantined()} == {(first, 0), (further, 0)}
    side = trial.spark.read.format("delta").load(f"{trial.table.uri}_quarantine").select("topic", "topic_id")
    assert {tuple(row) for row in side.collect()} == set(ids.items())
    rows = trial.spark.read.format("delta").load(trial.table.uri).where("id > 2")
    assert {tuple(row) for row in rows.select("_alluvium.topic", "_alluvium.topic_id").collect()} == set(ids.items())


def test_a_key_that_came_from_two_topics_is_refused_with_their_names(trial: Trial) -> None:
    first, further = sorted([trial.topic, trial.broker.create_topic(partitions=1)])
    trial.topic = f"{first},{further}"
    for topic in (first, further):
        trial.broker.produce(topic, [event(3, "b", 3.0)], partition=0)
    for limits in (trial.limits, Limits(fetched_records=0, collected_bytes=0)):
        trial.limits = limits
        with pytest.raises(
            StateError, match=f"came from partition 0 of '{first}' and partition 0 of '{further}', whose order"
        ):
            trial.run("batch")


def test_an_epoch_of_two_topics_begins_in_both(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    first, further = sorted([trial.topic, trial.broker.create_topic(partitions=1)])
    trial.topic = f"{first},{further}"
    trial.broker.produce(further, [event(3, "b", 3.0)], partition=0)
    trial.run("batch")
    capsys.readouterr()
    choice = rewind_choice(to_time=None, to_offset=None, by=None, to_beginning=True)
    act_on_proposal(trial.spark, trial.inputs(), choice, execute=True)
    assert f"  partition 0 of '{further}': 1 to 0, 1 read again\n" in capsys.readouterr().out
    assert trial.position().epoch == 2
    assert sum(trial.run("batch").offsets.values()) == 1


def test_the_report_has_the_totals_of_each_table(
    trial: Trial, second: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLUVIUM_REPORT_DIR", str(tmp_path / "reports"))
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)], partition=1)
    run_both(trial, second, "batch")
    report = read_report(next((tmp_path / "reports").iterdir()))
    assert [(each.pipeline, each.table, each.batches, each.totals.rows) for each in report.targets] == [
        ("trial", str(trial.table), 1, 1),
        ("other", str(second.table), 1, 1),
    ]
    assert (report.batches, report.totals.rows) == (2, 2)
    assert [each.table for each in report.last_batches] == [str(trial.table), str(second.table)]
    assert report.last_batches[0].topics == {trial.topic: report.last_batches[0].offsets}
