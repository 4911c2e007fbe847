"""Pipeline files: read whole, refused with the path and the nearest key."""

from pathlib import Path

import pytest

from common.errors import ConfigurationError
from common.settings.load import read_pipeline

GOOD = """
[source]
topic = "t"
columns = { id = "bigint", at = "string" }
[target]
keys = ["id"]
"""
AVRO = GOOD.replace('topic = "t"', 'topic = "t"\nformat = "avro"').replace(
    "[target]", '[source.registry]\nurl = "http://registry:8085/apis"\nsubject = "t-value"\n[target]'
)


def of_registry(keys: str) -> str:
    return AVRO.replace("[target]", f"{keys}\n[target]")


@pytest.fixture
def pipeline_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ALLUVIUM_PIPELINES", str(tmp_path))
    return tmp_path / "mine.toml"


def test_a_minimal_file_is_enough(pipeline_file: Path) -> None:
    pipeline_file.write_text(GOOD)
    pipeline = read_pipeline("mine")
    assert pipeline.name == "mine"
    assert pipeline.columns == ["id", "at"]
    assert pipeline.source.max_records_per_batch == 100_000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD.replace("topic", "topik"), "unknown key 'source.topik'; did you mean 'topic'?"),
        (GOOD + "[targt]\n", "unknown key 'targt'; did you mean 'target'?"),
        (GOOD.replace('keys = ["id"]', ""), "target.keys: Field required"),
        (GOOD.replace('["id"]', '["ide"]'), "target.keys: no column 'ide'; did you mean 'id'?"),
        (GOOD.replace('["id"]', '["id", "id"]'), "target.keys: 'id' stands there twice"),
        (GOOD.replace('["id"]', "[]"), "target.keys: List should have at least 1 item"),
        (GOOD.replace("id = ", '"i d" = '), "a column is named with letters, digits and underscores"),
        (GOOD.replace('"t"', "7"), "source.topic: Input should be a valid string"),
        (GOOD.replace("[source]", "[source"), "at line 2"),
        (GOOD + '[late]\ncolum = "at"\n', "unknown key 'late.colum'; did you mean 'column'?"),
        (GOOD + '[[quality.rules]]\nnam = "x"\n', "unknown key 'quality.rules.0.nam'; did you mean 'name'?"),
        (AVRO.replace("subject", "subjekt"), "unknown key 'source.registry.subjekt'; did you mean 'subject'?"),
        (AVRO.replace("http://", "ftp://"), "a registry is named as http://HOST:PORT/PATH"),
        (AVRO.replace("http://", "http://me:secret@"), "credentials do not stand in a registry's address"),
        (AVRO.replace("http://", "http://one, ftp://"), "a registry is named as http://HOST:PORT/PATH"),
        (of_registry('username = "m:e"\npassword = "env:X"'), "a username has no colon"),
        (of_registry('token = "canary"'), "a secret does not stand in a pipeline file"),
        (of_registry('token = "env:X"\nusername = "me"\npassword = "env:X"'), "told a token or a username, not both"),
        (of_registry('ssl_ca = "ca.pem"'), "ssl_ca has no effect with http"),
        (of_registry('ssl_certificate = "c.pem"'), "ssl_certificate and ssl_key belong together"),
        (of_registry('ssl_key = "env:KEY"\nssl_certificate = "c.pem"'), "ssl_key of a registry is in a file"),
        (of_registry('ssl_key_password = "env:X"'), "ssl_key_password has no effect without ssl_key"),
        (of_registry('username = "me"'), "username and password belong together"),
        (AVRO.replace("[target]", 'password = "secret"\n[target]'), "a secret does not stand in a pipeline file"),
        (AVRO.replace('"avro"', '"json"'), "source: registry has no effect with format 'json'"),
        (GOOD.replace("[target]", 'format = "avro"\n[target]'), "source: format 'avro' needs a registry"),
        (AVRO.replace('"avro"', '"avro"\nnull_value = "delete"'), "null_value 'delete' needs message keys in JSON"),
        (AVRO.replace('"avro"', '"avro"\nmax_record_bytes = 99999999'), "max_record_bytes is at most 16777216"),
        (GOOD.replace('"bigint"', '"decimal(99,2)"'), "'decimal(99,2)' is not a column's type"),
        (GOOD.replace('"string"', '"array<int"'), "source.columns.at: 'array<int' is not a column's type"),
        (GOOD.replace('"string"', '"map<int,int>"'), "the keys of a map are string: map<string,...>"),
        (GOOD.replace('"string"', '"struct<a:int,A:int>"'), "member 'A' is declared twice"),
        (
            GOOD.replace('"string"', '"array<json>"'),
            "json stands for a whole column; declare the column itself as json",
        ),
        (GOOD.replace('"string"', f'"{"array<" * 9}int{">" * 9}"'), "is nested deeper than 8 levels"),
        (AVRO.replace('"string"', '"json"'), "source: columns.at: json needs format 'json'"),
        (AVRO.replace('"string"', '"variant"'), "source: columns.at: variant needs format 'json'"),
        (GOOD.replace('"bigint"', '"array<int>"'), "target.keys: 'id' is array<int>; name a column of string, boolean"),
        (GOOD.replace('"string"', '"json"') + 'sequence = "at"\n', "target.sequence: 'at' is json; name a column of"),
        (GOOD.replace('"string"', '"variant"') + 'partition_by = ["at"]\n', "target.partition_by: 'at' is variant"),
        (GOOD.replace('"string"', '"json"') + 'prune_by = ["at"]\n', "target.prune_by: 'at' is json"),
        (GOOD.replace('"string"', '"struct<a:int>"') + '[late]\ncolumn = "at"\n', "late.column: 'at' is struct<a:int>"),
        (GOOD.replace("at =", "ID ="), "column 'ID' is declared twice"),
        (GOOD.replace("at =", "_at ="), "begin with an underscore"),
        (GOOD.replace("at =", "position ="), "'position' is the place in the topic"),
        (
            GOOD.replace("[target]", 'null_value = "delete"\n[target]\nsequence = "at"'),
            "source.null_value: 'delete' needs target.sequence = 'position', because a record without a value has",
        ),
        (
            GOOD.replace("[target]", 'null_value = "delete"\n[target]\nderived = { month = "x" }').replace(
                '["id"]', '["id", "month"]'
            ),
            "'delete' finds the row by the message key, and key 'month' is derived; let target.keys name columns of",
        ),
        (
            GOOD.replace("[target]", 'null_value = "delte"\n[target]'),
            "source.null_value: Input should be 'delete', 'skip'",
        ),
        (GOOD + '[late]\ncolumn = "at"\nbound = "5 days"\n', "'5 days' is not a duration"),
        (GOOD + 'name = "mine"\n', "target: name has no effect without path"),
        (GOOD + 'path = "var/my-table/"\n', "path ends in 'my-table', which is no name of a table; say one in name"),
    ],
)
def test_what_is_wrong_is_named(pipeline_file: Path, text: str, said: str) -> None:
    pipeline_file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_pipeline("mine")
    assert said in str(caught.value)
    assert str(pipeline_file) in str(caught.value)


def test_a_kind_has_one_spelling_and_a_type_in_spark(pipeline_file: Path) -> None:
    pipeline_file.write_text(GOOD.replace('"string"', '" map< string , struct<a : decimal(9,2), order: json>>"'))
    with pytest.raises(ConfigurationError, match="json stands for a whole column"):
        read_pipeline("mine")
    kinds = (
        'id = "bigint", at = " map< string , struct<a : decimal(9,2), order:array<int>>>", j = "json", v = "variant"'
    )
    pipeline_file.write_text(GOOD.replace('id = "bigint", at = "string"', kinds))
    source = read_pipeline("mine").source
    assert source.columns["at"] == "map<string,struct<a:decimal(9,2),order:array<int>>>"
    assert source.types == {
        "id": "bigint",
        "at": "map<string,struct<`a`:decimal(9,2),`order`:array<int>>>",
        "j": "string",
        "v": "variant",
    }


def test_a_table_is_called_as_its_folder_unless_the_file_says_otherwise(pipeline_file: Path) -> None:
    for said, name in (("", None), ('path = "var/mine"', "mine"), ('path = "s3a://b/my-t"\nname = "t"', "t")):
        pipeline_file.write_text(f"{GOOD}{said}\n")
        assert read_pipeline("mine").target.table_name == name


def test_an_unknown_pipeline_names_those_there_are(pipeline_file: Path) -> None:
    pipeline_file.write_text(GOOD)
    with pytest.raises(ConfigurationError, match=r"no pipeline 'yours'.*there are: mine"):
        read_pipeline("yours")


def test_every_pipeline_of_the_project_is_valid() -> None:
    folder = Path(__file__).resolve().parents[2] / "conf" / "pipelines"
    names = [file.stem for file in folder.glob("*.toml")]
    assert "temperatures" in names
    for name in names:
        assert read_pipeline(name).name == name


def test_avro_needs_a_registry_and_a_subject(pipeline_file: Path) -> None:
    pipeline_file.write_text(AVRO)
    registry = read_pipeline("mine").source.registry
    assert registry is not None
    assert (registry.url, registry.subject, registry.version) == ("http://registry:8085/apis", "t-value", None)


def test_the_pipelines_of_the_project_are_valid() -> None:
    assert read_pipeline("ratings").columns[-1] == "rating_date"
