"""The Avro decoder against an oracle in plain Python: thousands of values, and one answer for each."""

import os
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from common.registry.client import Client
from common.registry.subject import Registered, Subject
from common.settings.pipeline import Pipeline
from common.spark.classify import classify
from common.spark.decode.avro import AvroDecoder
from common.spark.decode.avro_reader import Reader
from common.spark.decode.avro_writers import Writers
from common.spark.source import as_records
from tests.support.avro_oracle import Known, judge
from tests.support.avro_payloads import COLUMNS, FOREIGN, MAX_BYTES, REFUSED, payloads, read_as, schemas
from tests.support.records import records

pytestmark = pytest.mark.usefixtures("compiled")

SEED = int(os.environ.get("ALLUVIUM_PAYLOAD_SEED", "25"))
COUNT = 6_000
PIPELINE = Pipeline.model_validate(
    {
        "name": "payloads",
        "source": {
            "topic": "t",
            "format": "avro",
            "registry": {"url": "http://127.0.0.1:9", "subject": "t-value"},
            "columns": COLUMNS,
            "max_record_bytes": MAX_BYTES,
        },
        "target": {"keys": ["id"]},
    }
)
KNOWN = Known(
    reader=read_as(),
    writers=schemas(plain=True, renamed="name"),
    refused=frozenset(REFUSED),
    foreign=frozenset(FOREIGN),
    max_bytes=MAX_BYTES,
)
JsonRow = tuple[str | None, dict[str, Any]]


@pytest.fixture(scope="module")
def drawn() -> list[bytes | None]:
    return list(payloads(SEED, COUNT))


@pytest.fixture(scope="module")
def expected(drawn: list[bytes | None]) -> list[JsonRow]:
    return [judge(value, KNOWN) for value in drawn]


def decoder(spark: SparkSession) -> AvroDecoder:
    known = schemas(plain=False)
    reader = Reader.of(spark, Registered(1, known[1], "AVRO", has_references=False), COLUMNS, "it")
    writers = Writers(Subject(Client("http://127.0.0.1:9", 0), "t-value"), reader)
    for number, text in (known | REFUSED).items():
        writers.learn(Registered(number, text, "AVRO", has_references=False))
    return AvroDecoder(COLUMNS, MAX_BYTES, writers, FOREIGN)


def found_by_the_engine(spark: SparkSession, drawn: list[bytes | None]) -> list[JsonRow]:
    judged = classify(as_records(records(spark, *drawn)), PIPELINE, decoder(spark))
    # Python's own times do not reach as far as Spark's: compare what is stored.
    stored = {"seen": F.unix_micros("seen"), "day": F.unix_date("day"), "items": F.transform("items", in_days)}
    values = [stored.get(name, F.col(name)).alias(name) for name in COLUMNS]
    rows = judged.select("_record.offset", "_reason", *values).orderBy("offset").collect()
    return [(row["_reason"], {} if row["_reason"] else values_of(row.asDict(recursive=True))) for row in rows]


def in_days(item: Column) -> Column:
    return F.when(item.isNotNull(), item.withField("at", F.unix_date(item["at"])))


def values_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in COLUMNS} | {"marks": dict(sorted(row["marks"].items()))}


def test_25_the_payloads_are_of_all_kinds(expected: list[JsonRow]) -> None:
    met = Counter(reason for reason, _ in expected)
    print(f"{len(expected)} payloads, seed {SEED}: {met}")
    assert 0.4 <= met[None] / len(expected) <= 0.6
    assert set(met) == {
        None,
        "NULL_VALUE",
        "OVERSIZED",
        "NO_HEADER",
        "BAD_MAGIC",
        "WRONG_SUBJECT",
        "UNREADABLE_SCHEMA",
        "UNKNOWN_SCHEMA",
        "NOT_AVRO",
        "TRAILING_BYTES",
        "NOT_UTF8",
        "WRONG_TYPE",
    }


def test_25_engine_and_oracle_agree_on_every_payload(
    spark: SparkSession, drawn: list[bytes | None], expected: list[JsonRow]
) -> None:
    found = found_by_the_engine(spark, drawn)
    differing = [
        f"{wanted} by the oracle, {got} by the engine: {value!r}"
        for value, wanted, got in zip(drawn, expected, found, strict=True)
        if as_stored(wanted) != as_stored(got)
    ]
    assert not differing, "\n".join(differing)


def as_stored(answer: JsonRow) -> tuple[str | None, dict[str, str]]:
    """By their text, so that 0.0 and -0.0 differ, and a NaN is one."""
    return answer[0], {name: repr(value) for name, value in answer[1].items()}
