"""Of the events of a key the newest remains, in Spark and in this process, by whatever kind of key and sequence."""

import random
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from common.model.disposition import DISPOSITION, DISPOSITIONS, MERGE
from common.model.record import RECORD_DDL
from common.rules import deduplicate as rule
from common.settings.target import POSITION
from common.spark.deduplicate import deduplicate
from tests.support.frames import frame
from tests.support.kinds import KINDS, NOON
from tests.support.trial import pipeline

COMPARED = [kind for kind in KINDS if "<" not in kind]


@pytest.mark.parametrize("kind", COMPARED)
@pytest.mark.parametrize("sequence", ["s", POSITION])
def test_both_deduplications_keep_the_same_rows(spark: SparkSession, kind: str, sequence: str) -> None:
    declared = pipeline("t", source={"columns": {"k": "string", "s": "string"}}, target=target(sequence))
    values = [value for value in KINDS[kind] if value is not None]
    # By position, a key is of one partition.
    places = range(3) if sequence == "s" else range(1)
    rows = [(*pair, partition, MERGE) for pair in product(values, values) for partition in places for _ in range(2)]
    rows += [(values[0], values[-1], 0, disposition) for disposition in (*DISPOSITIONS, None)]
    random.Random(kind).shuffle(rows)
    judged = frame(
        spark,
        [
            (key, age, record(partition, offset), disposition)
            for offset, (key, age, partition, disposition) in enumerate(rows)
        ],
        f"k {kind}, s {kind}, _record {RECORD_DDL}, {DISPOSITION} string",
    )
    arrow = rule.deduplicate(judged.toArrow(), declared.target.keys, declared.target.ordering)
    by_spark = dict(deduplicate(judged, declared).select("_record.offset", DISPOSITION).collect())
    assert dict(zip(offsets(arrow), arrow[DISPOSITION].to_pylist(), strict=True)) == by_spark
    merged = judged.where(F.col(DISPOSITION) == MERGE).select("k").distinct().count()
    assert list(by_spark.values()).count(MERGE) == merged


def target(sequence: str) -> dict[str, Any]:
    return {"keys": ["k"], "sequence": sequence, "partition_by": []}


def record(partition: int, offset: int) -> tuple[Any, ...]:
    return (b"k", b"v", "t", partition, offset, NOON)


def offsets(arrow: Any) -> list[int]:
    return [each["offset"] for each in arrow["_record"].to_pylist()]
