"""docs/pipeline-file.md: its tables are the models', its examples are valid, and what it says of values is so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from common.settings.base import Section
from common.settings.documentation import DOCUMENT, in_order, keys_of, regenerated, whole_file
from common.settings.kinds import KINDS
from common.settings.load import read_pipeline
from common.settings.pipeline import Pipeline
from common.settings.source import kind
from common.spark.expressions import check_expressions
from tests.support.commands import ROOT
from tests.support.records import classified_json, records

TEXT = (ROOT / DOCUMENT).read_text()
MINIMAL, *EXAMPLES = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


def rows_below(heading: str) -> list[list[str]]:
    """The rows of the table that begins with this heading, by their cells."""
    lines = TEXT.split(heading, 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_document_is_what_the_models_say() -> None:
    """`make docs` writes it anew."""
    assert regenerated(TEXT) == TEXT


def test_every_key_has_an_example() -> None:
    missing = [
        f"{header}: {key.name}"
        for header, model in in_order()
        for key in keys_of(model)
        if key.example is None and key.name not in {name.strip("[]").rpartition(".")[2] for name, _ in in_order()}
    ]
    assert missing == []


@pytest.mark.parametrize("example", [MINIMAL, *EXAMPLES], ids=lambda text: text.splitlines()[0])
def test_every_example_is_a_valid_file(example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of a file is one together with the file at the beginning of the page."""
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path))
    whole = example if "[source]" in example else f"{MINIMAL}\n{example}"
    (tmp_path / "parcels.toml").write_text(whole)
    assert read_pipeline("parcels").name == "parcels"


def test_the_whole_file_has_every_key() -> None:
    assert whole_file() in TEXT
    declared = {header: {key.name for key in keys_of(model)} for header, model in in_order()}
    assert set(declared) == set(re.findall(r"^\[+[a-z_.]+\]+$", whole_file(), re.MULTILINE))


def test_a_key_without_a_meaning_is_refused() -> None:
    class Nameless(Section):
        key: str

    with pytest.raises(LookupError, match=r"Nameless\.key: say below the key what it means"):
        keys_of(Nameless)


def example_of(name: str) -> str:
    return name.replace("(p,s)", "(10,2)").replace("name:KIND,...", "city:string").replace("KIND", "int")


def test_every_type_takes_its_example(spark: SparkSession) -> None:
    columns = {f"c{number}": example_of(name) for number, name in enumerate(KINDS)}
    assert [kind(each) for each in columns.values()] == list(columns.values())
    members = [f'"c{number}": {example}' for number, (example, _) in enumerate(KINDS.values())]
    declared = Pipeline.model_validate(
        {"name": "trial", "source": {"topic": "t", "columns": columns}, "target": {"keys": ["c0"]}}
    )
    (found,) = classified_json(records(spark, f"{{{', '.join(members)}}}".encode()), declared).collect()
    assert found["_disposition"] == "merge", found["_message"]
    assert [name for name in columns if found[name] is None] == []


DEPOTS = {"topic": "t", "columns": {"parcel_id": "bigint", "depot": "string"}}


def parcels(**parts: Any) -> Pipeline:
    columns = {"parcel_id": "bigint", "weight": "decimal(10,2)"}
    source, target = {"topic": "t", "columns": columns}, {"keys": ["parcel_id"]}
    return Pipeline.model_validate({"name": "trial", "source": source, "target": target, **parts})


def test_a_derived_column_may_use_those_before_it(spark: SparkSession) -> None:
    derived = {"place": "lower(trim(depot))", "initial": "substring(place, 1, 1)"}
    declared = parcels(target={"keys": ["parcel_id", "initial"], "derived": derived}, source=DEPOTS)
    check_expressions(spark, declared)
    (found,) = classified_json(records(spark, b'{"parcel_id":1,"depot":" Graz"}'), declared).collect()
    assert (found["place"], found["initial"], found["_disposition"]) == ("graz", "g", "merge")


def test_decimals_are_as_the_document_says(spark: SparkSession) -> None:
    said = [
        (text.strip("`"), becomes.strip("`"))
        for written, becomes, *_ in rows_below("| written | becomes | because |")
        for text in written.split(", ")
    ]
    assert ("1.500", "1.50") in said
    values = [f'{{"parcel_id": {number}, "weight": {text}}}'.encode() for number, (text, _) in enumerate(said)]
    found = classified_json(records(spark, *values), parcels()).orderBy("parcel_id").collect()
    read = [row["_reason"] or str(row["weight"]) for row in found]
    assert read == [becomes for _, becomes in said]


def test_rules_are_as_the_document_says(spark: SparkSession) -> None:
    rows = rows_below("| `check` | `weight` is 5 | `weight` is -1 | `weight` is null |")
    assert len(rows) == 2
    for check, *said in rows:
        quality = {"rules": [{"name": "weighed", "check": check.strip("`")}]}
        values = [
            json.dumps({"parcel_id": number, "weight": weight}).encode() for number, weight in enumerate([5, -1, None])
        ]
        found = classified_json(records(spark, *values), parcels(quality=quality)).orderBy("parcel_id").collect()
        dispositions = {"merge": "passes", "quarantined": "quarantined"}
        assert [dispositions[row["_disposition"]] for row in found] == said
        assert {row["_reason"] for row in found} == {None, "RULE_weighed"}


def test_a_cast_that_cannot_be_done_is_null(spark: SparkSession) -> None:
    declared = parcels(target={"keys": ["parcel_id"], "derived": {"number": "CAST(depot AS INT)"}}, source=DEPOTS)
    found = classified_json(records(spark, b'{"parcel_id":1,"depot":"7"}', b'{"parcel_id":2,"depot":"x"}'), declared)
    assert [(row["number"], row["_disposition"]) for row in found.orderBy("parcel_id").collect()] == [
        (7, "merge"),
        (None, "merge"),
    ]


def test_the_first_reason_counts(spark: SparkSession) -> None:
    """In the order of the document's table; of rules, in the order of the file."""
    rules = [{"name": "light", "check": "weight < 1"}, {"name": "lighter", "check": "weight < 0.5"}]
    values = [
        b'{"parcel_id": null, "weight": "5"}',
        b'{"parcel_id": null, "weight": 5}',
        b'{"parcel_id": 1, "weight": 5}',
        b'{"parcel_id": 1, "weight": 0.75}',
    ]
    found = classified_json(records(spark, *values), parcels(quality={"rules": rules}, late={"column": "weight"}))
    reasons = [row["_reason"] for row in found.orderBy("_record.offset").collect()]
    assert reasons == ["WRONG_TYPE", "NULL_KEY", "RULE_light", "RULE_lighter"]
