"""An empty table from a pipeline file: as declared, at the beginning of its topic, and never twice."""

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from common.delta.lineage import LINEAGE_TYPE
from common.delta.open_ledger import open_ledger
from common.errors import ConfigurationError, UsageError
from common.model.merge_spec import LINEAGE
from common.model.position import from_metadata
from common.operations.create_table import create_or_compare
from common.settings.load import read_pipeline
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from kafka_docker.embedded.ports import free_port
from kafka_docker.embedded.registry import Registry
from tests.support.avro import field, record
from tests.support.trial import Trial, event, pipeline


def test_the_table_is_as_the_pipeline_declares_it(spark: SparkSession, tmp_path: Path) -> None:
    declared, table = read_pipeline("temperatures"), location(str(tmp_path / "table"))
    create_or_compare(spark, declared, table, dry_run=False)
    found = DeltaTable.forPath(spark, table.uri)
    assert [(field.name, field.dataType.simpleString()) for field in found.toDF().schema] == [
        ("latitude", "double"),
        ("longitude", "double"),
        ("time", "string"),
        ("temperature_2m", "double"),
        ("month", "string"),
    ]
    details = found.detail().first()
    assert details["partitionColumns"] == ["month"]
    assert details["properties"]["delta.checkpointInterval"] == "50"
    assert found.toDF().count() == 0
    position = open_ledger(spark, table.uri, "temperatures").position()
    assert (position.epoch, position.seq, position.topic_ids, dict(position.offsets)) == (
        1,
        0,
        {"temperatures": None},
        {},
    )
    # It answers when the log entry has expired.
    copied = tmp_path / "table" / "_alluvium" / "temperatures" / "1-0.json"
    assert from_metadata(copied.read_text()) == position


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_a_job_on_a_new_table_reads_its_topic_from_the_first_record(trial: Trial, tmp_path: Path, mode: str) -> None:
    trial.broker.produce(trial.topic, [event(1, "a", 1.0), event(1, "a", 1.5), event(3, "b", 3.0)])
    trial.pipeline = pipeline(trial.topic, target={"lineage": True})
    trial.table = location(str(tmp_path / "new"))
    create_or_compare(trial.spark, trial.pipeline, trial.table, dry_run=False)
    assert DeltaTable.forPath(trial.spark, trial.table.uri).toDF().schema[LINEAGE].dataType == LINEAGE_TYPE
    assert trial.run(mode).seq == 1
    assert trial.rows() == {(1, "a", 1.5), (3, "b", 3.0)}


def test_a_table_that_is_there_stays_as_it_is(trial: Trial, capsys: pytest.CaptureFixture[str]) -> None:
    trial.broker.produce(trial.topic, [event(3, "b", 3.0)])
    trial.run("batch")
    before, rows = trial.version(), trial.rows()
    capsys.readouterr()
    create_or_compare(trial.spark, trial.pipeline, trial.table, dry_run=False)
    fits = f"{trial.table} is there already and fits pipeline 'trial'; nothing was changed\n"
    assert capsys.readouterr().out == fits
    assert (trial.version(), trial.rows()) == (before, rows)


OTHERS = [
    (pipeline("t", target={"derived": {"month": "'x'"}}), "column 'month' is missing"),
    (pipeline("t", target={"partition_by": []}), "it is partitioned by part, not by nothing"),
    (pipeline("t", target={"properties": {"delta.appendOnly": "x"}}), "property delta.appendOnly is not set, not x"),
    (
        pipeline("t", source={"columns": {"id": "int", "part": "string", "degrees": "double"}}),
        "column 'id' is bigint, not int",
    ),
    (
        pipeline("t", source={"columns": {"id": "bigint", "part": "string"}}),
        "column 'degrees' is not declared",
    ),
    (pipeline("t").model_copy(update={"name": "other"}), "it has no position of pipeline 'other'"),
]


@pytest.mark.parametrize(("declared", "difference"), OTHERS, ids=[each[1] for each in OTHERS])
def test_a_table_that_does_not_fit_is_refused(
    spark: SparkSession, loaded: Path, declared: Pipeline, difference: str
) -> None:
    with pytest.raises(UsageError) as refused:
        create_or_compare(spark, declared, location(str(loaded)), dry_run=False)
    assert f"does not fit pipeline '{declared.name}': {difference}; correct the pipeline's file" in str(refused.value)
    assert refused.value.exit_code == 2


WRONG = [
    (
        {"target": {"derived": {"day": "'x'", "month": "substring(tme, 1, 7)"}}},
        "target.derived.month",
        "`tme` cannot be",
    ),
    ({"target": {"derived": {"month": "substring(part, 1"}}}, "target.derived.month", "Syntax error at or near"),
    ({"quality": {"rules": [{"name": "cool", "check": "degres < 9"}]}}, "quality.rules.cool", "`degres` cannot be"),
    ({"quality": {"rules": [{"name": "sum", "check": "id + 1"}]}}, "quality.rules.sum", "Cannot resolve"),
    ({"target": {"derived": {"a": "part", "b": "upper(c)", "c": "a"}}}, "target.derived.b", "`c` cannot be resolved"),
    ({"target": {"derived": {"drawn": "rand()"}}}, "target.derived.drawn", "gives another value at each run"),
]


@pytest.mark.parametrize(("parts", "place", "why"), WRONG, ids=[f"{each[1]}: {each[2]}" for each in WRONG])
def test_a_dry_run_names_the_expression_that_is_wrong(
    spark: SparkSession, tmp_path: Path, parts: dict[str, Any], place: str, why: str
) -> None:
    table = location(str(tmp_path / "table"))
    with pytest.raises(ConfigurationError) as refused:
        create_or_compare(spark, pipeline("t", **parts), table, dry_run=True)
    assert f"pipeline 'trial': {place} = '" in str(refused.value)
    assert why in str(refused.value)
    assert "SQLSTATE" not in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "table").exists()


def test_a_dry_run_compares_the_columns_with_the_registrys_schema(
    spark: SparkSession, registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = f"s-{tmp_path.name}"
    schema = Schema(record(field("id", "long"), field("part", "string")), "AVRO")
    SchemaRegistryClient({"url": registry.url}).register_schema(subject, schema)
    source: dict[str, Any] = {"format": "avro", "registry": {"url": registry.url, "subject": subject}}
    table = location(str(tmp_path / "table"))
    with pytest.raises(ConfigurationError, match=r"source\.columns\.degrees: .*has no such field"):
        create_or_compare(spark, pipeline("t", source=source), table, dry_run=True)
    source["registry"] = {"url": f"http://127.0.0.1:{free_port()}", "subject": subject}
    create_or_compare(spark, pipeline("t", source=source), table, dry_run=True)
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("Not checked against the registry's schema: no schema registry answers at ")
    assert said[1] == f"Would create {table} for pipeline 'trial'"
    assert not (tmp_path / "table").exists()


def test_nothing_is_left_of_a_dry_run_or_beside_foreign_files(spark: SparkSession, tmp_path: Path) -> None:
    table = location(str(tmp_path / "table"))
    create_or_compare(spark, pipeline("t"), table, dry_run=True)
    assert not (tmp_path / "table").exists()
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="is not empty and not a Delta table"):
        create_or_compare(spark, pipeline("t"), table, dry_run=False)
    assert [file.name for file in (tmp_path / "table").iterdir()] == ["letter.txt"]
