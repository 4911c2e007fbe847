"""The decoder against an oracle in plain Python: thousands of record values, and one answer for each."""

import os
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common.model.limits import DEFAULT_LIMITS
from common.settings.pipeline import Pipeline
from common.spark.decode.json import json_rejections
from common.spark.small_queries import small_query_conf
from common.spark.validate.disposition import pipeline_rejections
from tests.support.oracle import Contract, Judgement, judge
from tests.support.payloads import ANY, COLUMNS, KINDS, MAX_BYTES, Payload, payloads
from tests.support.records import NOON, classified_json, records

pytestmark = pytest.mark.usefixtures("compiled")

SEED = int(os.environ.get("ALLUVIUM_PAYLOAD_SEED", "28"))
PIPELINE = Pipeline.model_validate(
    {
        "name": "payloads",
        "source": {"topic": "t", "columns": COLUMNS, "max_record_bytes": MAX_BYTES},
        "target": {"keys": ["id", "name"], "sequence": "version"},
        "quality": {"rules": [{"name": "passed", "check": "grade BETWEEN 1 AND 6"}]},
        "late": {"column": "seen", "future_bound": "1h"},
    }
)
CONTRACT = Contract(
    columns=COLUMNS,
    keys=["id", "name"],
    sequence="version",
    max_bytes=MAX_BYTES,
    rules={"passed": ("grade", 1, 6)},
    late="seen",
    future=timedelta(hours=1),
    produced=NOON,
)


@pytest.fixture(scope="module")
def drawn() -> list[Payload]:
    return list(payloads(SEED))


@pytest.fixture(scope="module")
def expected(drawn: list[Payload]) -> list[Judgement]:
    return [judge(payload.value, CONTRACT) for payload in drawn]


def found_by_the_engine(spark: SparkSession, drawn: list[Payload]) -> list[Judgement]:
    judged = classified_json(records(spark, *(payload.value for payload in drawn)), PIPELINE)
    # Python's own times do not reach as far as Spark's: compare what is stored.
    stored = {"at": F.unix_micros("at"), "day": F.unix_date("day")}
    values = [stored.get(name, F.col(name)).alias(name) for name in COLUMNS]
    collected = judged.select("_record.offset", "_reason", *values).collect()
    rows_in_order = sorted(collected, key=lambda row: row["offset"])
    return [Judgement(row["_reason"], {} if row["_reason"] else values_of(row)) for row in rows_in_order]


def values_of(row: Any) -> dict[str, Any]:
    return {name: row[name] for name in COLUMNS}


def shown(payload: Payload, wanted: Judgement, found: Judgement) -> str:
    differing = {
        name: (wanted.values.get(name), found.values.get(name))
        for name in COLUMNS
        if repr(wanted.values.get(name)) != repr(found.values.get(name))
    }
    answers = f"{wanted.reason} by the oracle, {found.reason} by the engine"
    return f"{payload.kind}: {answers}, {differing}: {payload.value!r:.400}"


def test_28_the_payloads_are_many_and_of_all_kinds(
    spark: SparkSession, drawn: list[Payload], expected: list[Judgement]
) -> None:
    met = Counter(payload.kind for payload in drawn)
    share = sum(judgement.reason is None for judgement in expected) / len(drawn)
    print(f"{len(drawn)} payloads of {len(met)} classes, {share:.1%} of them events, seed {SEED}")
    assert len(drawn) >= 10_000
    assert len(met) >= 40
    assert set(met) == set(KINDS)
    assert 0.45 <= share <= 0.55
    rejections = [*json_rejections(COLUMNS, MAX_BYTES), *pipeline_rejections(PIPELINE)]
    # Of the record's own time, whatever its value is: tests/integration/test_hostile_values.py.
    of_payloads = {rejection.code for rejection in rejections} - {"BAD_TIMESTAMP"}
    assert {judgement.reason for judgement in expected} == of_payloads | {None}


def test_28_the_payloads_are_what_their_classes_say(drawn: list[Payload], expected: list[Judgement]) -> None:
    others = [
        (payload, judgement.reason)
        for payload, judgement in zip(drawn, expected, strict=True)
        if payload.meant not in {ANY, judgement.reason}
    ]
    assert others == []


@pytest.mark.parametrize("batch", [1, DEFAULT_LIMITS.fetched_records + 1], ids=["interpreted", "compiled"])
def test_28_engine_and_oracle_agree_on_every_payload(
    spark: SparkSession, drawn: list[Payload], expected: list[Judgement], batch: int
) -> None:
    """In both ways in which a batch is run, which its size decides."""
    with small_query_conf(spark, DEFAULT_LIMITS, batch):
        found = found_by_the_engine(spark, drawn)
    differing = [
        shown(payload, wanted, got)
        for payload, wanted, got in zip(drawn, expected, found, strict=True)
        if as_stored(wanted) != as_stored(got)
    ]
    assert differing == []


def as_stored(judgement: Judgement) -> tuple[str | None, dict[str, Any]]:
    """Floats by their text, so that 0.0 and -0.0 differ."""
    return judgement.reason, {
        name: repr(value) if isinstance(value, float) else value for name, value in judgement.values.items()
    }
