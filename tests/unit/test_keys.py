"""Canonical keys: two spellings of one key are one row, in events and in the base load."""

import unicodedata
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common.errors import UsageError
from common.merge.delta_merge import merge_changes
from common.merge.request import merge_spec
from common.operations.base_load import load_base
from common.settings.locations import location
from common.settings.pipeline import Pipeline
from tests.support.frames import frame
from tests.support.records import classified_json, records

pytestmark = pytest.mark.usefixtures("compiled")

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
FORMS = ("NFC", "NFD", "NFKC", "NFKD")

# Characters that Python's Unicode knows, so that both sides know the same forms; marks more often than by chance.
characters = st.one_of(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cn", "Co")),
    st.sampled_from("aeiouAO\u0300\u0301\u0307\u0308\u0323\u0327\u0328\u0345\u212b\u2126\u1100\u1161\u11a8\uac00"),
)
texts = st.text(characters, max_size=6)
numbers = st.sampled_from(["0", "-0", "0.0", "-0.0", "-0e0", "0E-7", "1.5", "15e-1", "1.50", "-1.5", "1e-400", "2"])
amounts = st.sampled_from(["0", "-0.00", "1.5", "1.50", "1.500", "-1.5", "150e-2", "15", "15.0"])


@st.composite
def spellings(draw: st.DrawFn) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """Two keys, often the same one spelt in two ways."""
    text, other = draw(texts), draw(texts)
    respelt = unicodedata.normalize(
        draw(st.sampled_from(FORMS)), draw(st.sampled_from([text, text, text.upper(), other]))
    )
    number, amount = draw(numbers), draw(amounts)
    return (text, number, amount), (respelt, draw(numbers | st.just(number)), draw(amounts | st.just(amount)))


def pipeline(**parts: Any) -> Pipeline:
    columns = {"pair": "bigint", "text": "string", "number": "double", "amount": "decimal(10,2)"}
    keys = {"keys": ["pair", "text", "number", "amount"]}
    whole = {"name": "trial", "source": {"topic": "t", "columns": columns}, "target": keys}
    return Pipeline.model_validate(whole | parts)


def value(pair: int, key: tuple[str, str, str]) -> bytes:
    text, number, amount = key
    quoted = '"' + "".join(f"\\u{unit:04x}" for unit in units(text)) + '"'
    return f'{{"pair":{pair},"text":{quoted},"number":{number},"amount":{amount}}}'.encode()


def units(text: str) -> list[int]:
    encoded = text.encode("utf-16-be")
    return [int.from_bytes(encoded[place : place + 2]) for place in range(0, len(encoded), 2)]


def canonical(key: tuple[str, str, str]) -> tuple[str, float, Decimal] | None:
    """What the key is, by Python; None where it is none, because a decimal has an exponent."""
    text, number, amount = key
    if "e" in amount:
        return None
    return unicodedata.normalize("NFC", text), float(number), Decimal(amount)


@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(spellings(), min_size=60, max_size=120))
def test_11_equal_canonical_forms_are_one_key_and_others_are_two(
    spark: SparkSession, pairs: list[tuple[tuple[str, str, str], tuple[str, str, str]]]
) -> None:
    values = [value(number, key) for number, pair in enumerate(pairs) for key in pair]
    collected = classified_json(records(spark, *values), pipeline()).select("_record.offset", "_disposition").collect()
    dispositions = [disposition for _, disposition in sorted(tuple(row) for row in collected)]
    found = {number: tuple(dispositions[2 * number : 2 * number + 2]) for number in range(len(pairs))}
    assert found == {number: expected_fates(*pair) for number, pair in enumerate(pairs)}


def expected_fates(first: tuple[str, str, str], second: tuple[str, str, str]) -> tuple[str, str]:
    keys = canonical(first), canonical(second)
    if None not in keys and keys[0] == keys[1]:
        return "folded", "merge"
    return tuple("quarantined" if key is None else "merge" for key in keys)  # type: ignore[return-value]


def test_11_an_event_finds_the_row_of_the_base_load_in_any_spelling(spark: SparkSession, tmp_path: Path) -> None:
    declared = pipeline(
        source={"topic": "t", "columns": {"name": "string", "ratio": "float", "n": "bigint"}},
        target={"keys": ["name", "ratio", "initial"], "derived": {"initial": "right(name, 1)"}},
    )
    rows = [(DECOMPOSED, -0.0, 1), ("Cafe", 0.0, 1)]
    frame(spark, rows, "name string, ratio float, n bigint").write.parquet(f"{tmp_path}/in")
    load_base(spark, declared, location(f"{tmp_path}/in"), location(f"{tmp_path}/out"), overwrite=False)
    table = DeltaTable.forPath(spark, f"{tmp_path}/out")
    assert {tuple(row) for row in table.toDF().withColumn("ratio", F.col("ratio").cast("string")).collect()} == {
        (COMPOSED, "0.0", 1, "\u00e9"),
        ("Cafe", "0.0", 1, "e"),
    }
    events = classified_json(records(spark, f'{{"name":"{DECOMPOSED}","ratio":-0e0,"n":2}}'.encode()), declared)
    merge_changes(
        table, events.select(*declared.columns), merge_spec(declared, {name: name for name in declared.columns})
    )
    assert {(row["name"], row["n"]) for row in table.toDF().collect()} == {(COMPOSED, 2), ("Cafe", 1)}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(COMPOSED, 1.0), (DECOMPOSED, 1.0)], f"key name={COMPOSED}, ratio=1.0 stands twice"),
        ([("a", 0.0), ("a", -0.0)], "key name=a, ratio=0.0 stands twice"),
        ([("a", float("nan"))], "key name=a, ratio=None has a null or a NaN"),
        ([("", 1.0)], "key name=, ratio=1.0 has an empty text in a column that partitions the table"),
    ],
)
def test_11_a_base_load_with_two_spellings_or_no_key_is_refused(
    spark: SparkSession, tmp_path: Path, rows: list[tuple[str, float]], said: str
) -> None:
    frame(spark, rows, "name string, ratio double").write.parquet(f"{tmp_path}/in")
    declared = pipeline(
        source={"topic": "t", "columns": {"name": "string", "ratio": "double"}},
        target={"keys": ["name", "ratio"], "partition_by": ["name"]},
    )
    with pytest.raises(UsageError, match=said):
        load_base(spark, declared, location(f"{tmp_path}/in"), location(f"{tmp_path}/out"), overwrite=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["decimal(12,3)", "double", "string"])
def test_11_a_base_load_that_would_round_a_decimal_key_is_refused(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    spark.sql(f"SELECT CAST(1.5 AS {kind}) AS amount").write.parquet(f"{tmp_path}/in")
    declared = pipeline(source={"topic": "t", "columns": {"amount": "decimal(10,2)"}}, target={"keys": ["amount"]})
    with pytest.raises(UsageError, match=r"key 'amount' is .*, and decimal\(10,2\) would round it"):
        load_base(spark, declared, location(f"{tmp_path}/in"), location(f"{tmp_path}/out"), overwrite=False)
    assert not (tmp_path / "out").exists()


def test_11_nan_is_no_key(spark: SparkSession) -> None:
    """JSON cannot say it, a derived column can."""
    declared = pipeline(target={"keys": ["root"], "derived": {"root": "sqrt(number)"}})
    values = [value(1, ("a", "-1", "0")), value(2, ("a", "4", "0"))]
    found = classified_json(records(spark, *values), declared).select("pair", "root", "_reason").collect()
    assert sorted(tuple(row) for row in found) == [(1, None, "NULL_KEY"), (2, 2.0, None)]
