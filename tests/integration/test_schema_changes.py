"""A pipeline and its table that differ: brought together by the file's policy, or refused before anything is read."""

import shlex
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import functions as F

import jobs.alter_table
from common.delta.quarantine import Selection
from common.errors import SchemaMismatch, TryLater, UnclearKeys
from common.operations.quarantine import QuarantineTarget, replay
from common.present.console import print_plan
from common.settings.pipeline import Pipeline
from tests.support.frames import frame
from tests.support.trial import Trial, event, pipeline

WIDER = {"id": "bigint", "part": "string", "degrees": "double", "city": "string"}


def altered(trial: Trial, clause: str) -> None:
    trial.spark.sql(f"ALTER TABLE delta.`{trial.table.uri}` {clause}")


def rows_of(trial: Trial, *names: str) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in trial.spark.read.format("delta").load(trial.table.uri).select(*names).collect()}


def declared(trial: Trial, columns: dict[str, str], **target: Any) -> Pipeline:
    return pipeline(trial.topic, source={"columns": columns}, target=target)


@pytest.mark.parametrize("mode", ["batch", "stream"])
def test_39_a_column_that_the_table_lacks_is_added_in_a_commit_before_the_batch(trial: Trial, mode: str) -> None:
    trial.broker.produce(trial.topic, [event(1, "a", 1.5, city="Oslo"), event(3, "b", 3.0, city="Rome")])
    trial.pipeline = declared(trial, WIDER, prune_by=["id"])
    trial.run(mode)
    assert rows_of(trial, "id", "degrees", "city") == {(1, 1.5, "Oslo"), (2, 2.0, None), (3, 3.0, "Rome")}
    history = DeltaTable.forPath(trial.spark, trial.table.uri).history().select("operation").collect()
    assert [row["operation"] for row in history][:2] == ["MERGE", "ADD COLUMNS"]


def test_39_a_dry_run_tells_what_it_would_add_and_adds_nothing(
    trial: Trial, capsys: pytest.CaptureFixture[str]
) -> None:
    trial.pipeline, before = declared(trial, WIDER), trial.version()
    print_plan([trial.start()])
    assert "  before it: ALTER TABLE ADD COLUMNS (`city` string)\n" in capsys.readouterr().out
    assert trial.version() == before


def test_39_a_narrower_column_is_widened_and_a_wider_one_taken_as_it_is(trial: Trial) -> None:
    path = trial.table.uri
    altered(trial, "ADD COLUMNS (small int, large bigint)")
    DeltaTable.forPath(trial.spark, path).update(set={"small": F.lit(7), "large": F.lit(8)})
    trial.broker.produce(trial.topic, [event(1, "a", 1.5, small=2**40, large=9)])  # type: ignore[arg-type]
    columns = {"id": "bigint", "part": "string", "degrees": "double", "small": "bigint", "large": "int"}
    trial.pipeline = declared(trial, columns, prune_by=["id"])
    trial.run("batch")
    assert rows_of(trial, "id", "small", "large") == {(1, 2**40, 9), (2, 7, 8)}
    kinds = {field.name: field.dataType.simpleString() for field in trial.spark.read.format("delta").load(path).schema}
    assert (kinds["small"], kinds["large"]) == ("bigint", "bigint")


def test_39_names_that_differ_by_case_are_the_same_column(trial: Trial) -> None:
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(7, "a", 7.0)])
    path = trial.table.uri
    rows = trial.spark.read.format("delta").load(path).selectExpr("id AS ID", "part AS Part", "degrees AS DEGREES")
    rows.write.format("delta").partitionBy("Part").save(f"{path}_other")
    trial.pipeline = pipeline(trial.topic, target={"prune_by": ["id"]})
    trial.adopt(f"{trial.table}_other")
    trial.run("batch")
    assert rows_of(trial, "ID", "Part", "DEGREES") == {(1, "a", 1.5), (2, "a", 2.0), (7, "a", 7.0)}
    assert trial.spark.read.format("delta").load(trial.table.uri).columns == ["ID", "Part", "DEGREES"]


REFUSED = [
    ({**WIDER, "degrees": "string"}, {}, "column 'degrees' is double, not string; write degrees = \"double\" under"),
    ({"id": "bigint", "part": "string"}, {}, "column 'degrees' is not declared; declare it, or say in the pipeline's"),
    (WIDER, {"keys": ["id", "city"]}, "column 'city' is missing, and a key; go on with a table that fits: submit/"),
    (WIDER, {"partition_by": []}, 'it is partitioned by part, not by nothing; write partition_by = ["part"] under'),
    (WIDER, {"schema_changes": {"added": "stop"}}, "column 'city' is missing; submit/alter_table.sh --execute"),
]


@pytest.mark.parametrize(("columns", "target", "line"), REFUSED, ids=[each[2].split(";")[0] for each in REFUSED])
def test_39_what_does_not_fit_is_refused_before_anything_is_read(
    trial: Trial, columns: dict[str, str], target: dict[str, Any], line: str
) -> None:
    before = trial.version()
    trial.pipeline = declared(trial, columns, **target)
    with pytest.raises(SchemaMismatch) as refused:
        trial.start()
    assert f"{trial.table} does not fit pipeline 'trial': {line}" in str(refused.value)
    assert refused.value.exit_code == 2
    assert trial.version() == before


def test_39_the_printed_statement_mends_what_the_policy_stops_for(trial: Trial) -> None:
    trial.pipeline = declared(trial, WIDER, schema_changes={"added": "stop"})
    with pytest.raises(SchemaMismatch) as refused:
        trial.start()
    script, *arguments = shlex.split(refused.value.remedy)
    assert script == "submit/alter_table.sh"
    jobs.alter_table.main.__wrapped__.main(arguments, standalone_mode=False)  # type: ignore[attr-defined]
    assert trial.start().context.fit.differences == []


@pytest.mark.parametrize(("policy", "old"), [("keep", "Oslo"), ("null", None)])
@pytest.mark.parametrize("bounded", [True, False], ids=["by hand", "by merge"])
def test_39_a_column_that_nobody_declares_any_more_follows_the_policy(
    trial: Trial, policy: str, old: str | None, *, bounded: bool
) -> None:
    altered(trial, "ADD COLUMNS (city string)")
    DeltaTable.forPath(trial.spark, trial.table.uri).update(set={"city": F.lit("Oslo")})
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(7, "a", 7.0)])
    prune = {"prune_by": ["id"]} if bounded else {}
    trial.pipeline = pipeline(trial.topic, target={"schema_changes": {"undeclared": policy}, **prune})
    trial.run("batch")
    assert rows_of(trial, "id", "degrees", "city") == {(1, 1.5, old), (2, 2.0, "Oslo"), (7, 7.0, None)}


def test_39_a_record_that_breaks_a_rule_of_the_table_is_turned_away_alone(trial: Trial) -> None:
    """A constraint that somebody has added refuses the whole batch, of which one record is wrong."""
    columns = "id bigint, part string, degrees double NOT NULL, code varchar(3)"
    trial.spark.sql(f"CREATE TABLE delta.`{trial.table.uri}_strict` ({columns}) USING delta PARTITIONED BY (part)")
    trial.pipeline = declared(trial, {**WIDER, "code": "string"}, prune_by=["id"])
    trial.adopt(f"{trial.table}_strict")
    altered(trial, "ADD CONSTRAINT warm CHECK (degrees > -273)")
    trial.broker.produce(
        trial.topic,
        [event(1, "a", 1.5), event(5, "a", -300.0), event(6, "a", None), event(7, "a", 7.0, code="abcd")],
        0,
    )
    trial.run("batch")
    assert trial.rows() == {(1, "a", 1.5)}
    reasons = ["RULE_constraint_warm", "RULE_not_null_degrees", "RULE_length_code"]
    assert [row[2] for row in trial.quarantined()] == reasons
    # Without the constraint, what waits is replayed.
    altered(trial, "DROP CONSTRAINT warm")
    replay(
        trial.spark,
        QuarantineTarget(trial.pipeline, trial.table),
        Selection(state="waiting"),
        overwrite=False,
        execute=True,
    )
    assert (5, "a", -300.0) in trial.rows()


def test_39_a_rule_that_comes_while_a_job_runs_stops_it_and_the_next_start_goes_by_it(trial: Trial) -> None:
    driver = trial.driver("batch")
    trial.broker.produce(trial.topic, [event(5, "a", -300.0)])
    altered(trial, "ADD CONSTRAINT warm CHECK (degrees > -273)")
    driver._first = driver.run.topic.available()  # type: ignore[union-attr]
    with pytest.raises(TryLater, match="have changed while this job ran; start it again"):
        driver.drain()  # type: ignore[union-attr]
    trial.run("batch")
    assert [row[2] for row in trial.quarantined()] == ["RULE_constraint_warm"]


def test_39_columns_that_fill_themselves_do_so_in_each_way(trial: Trial) -> None:
    """A default, an identity and a generated column that the pipeline does not declare."""
    path = f"{trial.table.uri}_own"
    trial.spark.sql(
        f"CREATE TABLE delta.`{path}` (id bigint, part string, degrees double, city string DEFAULT 'Oslo', "
        "number bigint GENERATED ALWAYS AS IDENTITY, doubled double GENERATED ALWAYS AS (degrees * 2)) "
        "USING delta PARTITIONED BY (part) TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    first = frame(trial.spark, [(1, "a", 1.0, "Rome")], "id bigint, part string, degrees double, city string")
    first.write.format("delta").mode("append").save(path)
    trial.pipeline = pipeline(trial.topic, target={"prune_by": ["id"], "schema_changes": {"undeclared": "keep"}})
    trial.adopt(path)
    trial.broker.produce(trial.topic, [event(1, "a", 1.5), event(7, "b", 7.0)])
    trial.run("batch")
    rows = rows_of(trial, "id", "degrees", "city", "doubled")
    assert rows == {(1, 1.5, "Rome", 3.0), (7, 7.0, "Oslo", 14.0)}
    assert None not in {number for (number,) in rows_of(trial, "number")}


def test_39_other_keys_are_proved_on_the_rows_that_are_there(trial: Trial) -> None:
    """Two rows that the new keys take for one would both be changed by each of its events."""
    trial.run("batch")
    trial.pipeline = pipeline(trial.topic, target={"keys": ["part"]})
    with pytest.raises(UnclearKeys) as refused:
        trial.start()
    names = "its rows were keyed by id, part, and pipeline 'trial' names part: key part=a stands twice"
    assert f"{trial.table}: {names}; correct target.keys" in str(refused.value)
    trial.pipeline = pipeline(trial.topic, target={"keys": ["id"]})
    trial.run("batch")
    # From fewer keys to more, nothing has to be proved.
    trial.pipeline = pipeline(trial.topic)
    trial.run("batch")
