"""Nested columns of JSON against the oracle in plain Python: thousands of records, and one answer for each."""

import json
import os
import re
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common.model.limits import DEFAULT_LIMITS
from common.settings.pipeline import Pipeline
from common.spark.small_queries import small_query_conf
from tests.support.nested_payloads import COLUMNS, MAX_BYTES, payloads
from tests.support.oracle import Number, Wrong, column_value, depth, members, raw_members, scalars
from tests.support.records import classified_json, records

pytestmark = pytest.mark.usefixtures("compiled")

SEED = int(os.environ.get("ALLUVIUM_PAYLOAD_SEED", "16"))
COUNT = 3_000
DEEPEST = 100
PIPELINE = Pipeline.model_validate(
    {
        "name": "nested",
        "source": {"topic": "t", "columns": COLUMNS, "max_record_bytes": MAX_BYTES},
        "target": {"keys": ["id"]},
    }
)
JsonRow = tuple[str | None, dict[str, Any]]


@pytest.fixture(scope="module")
def drawn() -> list[bytes]:
    return list(payloads(SEED, COUNT))


@pytest.fixture(scope="module")
def expected(drawn: list[bytes]) -> list[JsonRow]:
    return [judge(value) for value in drawn]


def judge(value: bytes) -> JsonRow:
    try:
        found = members(value, MAX_BYTES)
        raw = raw_members(value.decode())
        return None, {name: judged(found.get(name), raw.get(name), kind) for name, kind in COLUMNS.items()}
    except Wrong as wrong:
        return wrong.reason, {}


def judged(found: Any, raw: str | None, kind: str) -> Any:
    if found is None or raw is None:
        return None
    if kind == "json":
        return raw
    if depth(raw) > DEEPEST or (kind == "variant" and not all(map(is_kept, scalars(found)))):
        raise Wrong("WRONG_TYPE")
    return canonical(in_python(found) if kind == "variant" else column_value(found, kind))


def is_kept(scalar: Any) -> bool:
    """Exactly, or as a double where it has an exponent."""
    if not isinstance(scalar, Number):
        return True
    if re.search("[eE]", scalar.text):
        return abs(float(scalar.text)) != float("inf")
    whole, _, fraction = scalar.text.lstrip("-").partition(".")
    return len(fraction) <= 38 and len((whole + fraction).lstrip("0")) <= 38


def in_python(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: in_python(each) for name, each in found.items()}
    if isinstance(found, list):
        return [in_python(each) for each in found]
    if not isinstance(found, Number):
        return found
    return float(found.text) if re.search("[eE]", found.text) else Decimal(found.text)


def canonical(found: Any) -> Any:
    """Numbers by their value, and by their sign where it is a float; members in the order of their names."""
    if isinstance(found, dict):
        return {name: canonical(found[name]) for name in sorted(found)}
    if isinstance(found, list):
        return [canonical(each) for each in found]
    if isinstance(found, float):
        return repr(found + 0.0 if found == 0 else found)
    return found.normalize() + 0 if isinstance(found, Decimal) else found


def found_by_the_engine(spark: SparkSession, drawn: list[bytes]) -> list[JsonRow]:
    rows = classified_json(records(spark, *drawn), PIPELINE)
    # Python's own times do not reach as far as Spark's: compare what is stored.
    born, at = F.unix_date("who.born"), F.unix_micros("who.at")
    who = F.when(F.col("who").isNotNull(), F.col("who").withField("born", born).withField("at", at))
    stored = {"who": who, "any": F.to_json("any")}
    values = [stored.get(name, F.col(name)).alias(name) for name in COLUMNS]
    collected = rows.select("_record.offset", "_reason", "_message", *values).collect()
    in_order = sorted((row.asDict(recursive=True) for row in collected), key=lambda row: row["offset"])
    return [(row["_reason"], {} if row["_reason"] else values_of(row)) for row in in_order]


def values_of(row: dict[str, Any]) -> dict[str, Any]:
    if row["any"] is not None:
        row["any"] = json.loads(row["any"], parse_float=of_variant, parse_int=Decimal)
    return {name: canonical(row[name]) for name in COLUMNS}


def of_variant(text: str) -> float | Decimal:
    return float(text) if "E" in text else Decimal(text)


@pytest.mark.parametrize("batch", [1, DEFAULT_LIMITS.fetched_records + 1], ids=["interpreted", "compiled"])
def test_28_engine_and_oracle_agree_on_every_nested_payload(
    spark: SparkSession, drawn: list[bytes], expected: list[JsonRow], batch: int
) -> None:
    """In both ways in which a batch is run, which its size decides."""
    with small_query_conf(spark, DEFAULT_LIMITS, batch):
        found = found_by_the_engine(spark, drawn)
    differing = [
        f"{wanted} by the oracle, {got} by the engine: {value!r:.600}"
        for value, wanted, got in zip(drawn, expected, found, strict=True)
        if as_compared(wanted) != as_compared(got)
    ]
    assert not differing, f"{len(differing)}: " + "\n".join(differing[:10])


def as_compared(answer: JsonRow) -> JsonRow:
    """VARIANT writes some doubles without an exponent: its numbers are compared by their value alone."""
    reason, values = answer
    return reason, values | {"any": as_numbers(values.get("any"))}


def as_numbers(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: as_numbers(each) for name, each in found.items()}
    if isinstance(found, list):
        return [as_numbers(each) for each in found]
    if isinstance(found, str) and re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", found):
        return Decimal(found).normalize() + 0
    return found


def test_28_nested_payloads_are_of_all_kinds(drawn: list[bytes], expected: list[JsonRow]) -> None:
    met = Counter(reason for reason, _ in expected)
    print(f"{len(drawn)} payloads, seed {SEED}: {met}")
    assert set(met) == {None, "WRONG_TYPE"}
    assert 0.4 <= met[None] / len(drawn) <= 0.8
    for name in COLUMNS:
        assert sum(values.get(name) is not None for _, values in expected) > COUNT / 10


def test_kinds_go_eight_levels_deep(spark: SparkSession) -> None:
    """And what is wrong is named by its place."""
    deep = "array<map<string,struct<a:array<map<string,struct<a:array<struct<n:int>>>>>>>>"
    source = {"topic": "t", "columns": {"id": "bigint", "deep": deep}}
    declared = Pipeline.model_validate({"name": "deep", "source": source, "target": {"keys": ["id"]}})
    sound = '{"id":1,"deep":[{"k":{"a":[{"l":{"a":[{"n":7},null]}}]}}]}'
    values = [sound, sound.replace("7", '"7"'), sound.replace('{"n":7}', "[]"), sound.replace("null", "{}")]
    rows = classified_json(records(spark, *(value.encode() for value in values)), declared)
    found = rows.orderBy("_record.offset").select("_message", F.to_json("deep").alias("deep")).collect()
    assert [row["_message"] for row in found] == [
        None,
        "deep[0]['k'].a[0]['l'].a[0].n: int is wanted, not STRING",
        "deep[0]['k'].a[0]['l'].a[0]: struct<n:int> is wanted, not ARRAY",
        None,
    ]
    assert found[0]["deep"] == '[{"k":{"a":[{"l":{"a":[{"n":7},null]}}]}}]'
