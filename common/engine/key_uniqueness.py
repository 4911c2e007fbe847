"""Accounting by key: what may be merged is one row for each key, the newest of it."""

from collections.abc import Iterable, Sequence
from functools import cache

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from common.engine.accounting import unbalanced
from common.errors import StateError
from common.settings.pipeline import POSITION, Pipeline
from common.spark.queries import JsonRow, collect_many
from common.spark.source import RECORD
from common.spark.validate.disposition import DISPOSITION, FOLDED, MERGE

IS_RIVAL = f"{DISPOSITION} IN ('{MERGE}', '{FOLDED}')"


class SplitKeyError(StateError):
    """Events of one key stand in two partitions."""

    def __init__(self, partitions: tuple[int, int], message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.partitions = partitions


def check_keys(ambiguous: Iterable[JsonRow], pipeline: Pipeline) -> None:
    """Everything that may be wrong with a key of the batch, by one that is."""
    for row in ambiguous:
        key = key_of(row, pipeline.target.keys)
        refuse_split(key, row, pipeline.target.sequence)
        if row["_merged"] != 1:
            raise unbalanced(f"key {key}: {row['_merged']} of its {row['_rows']} rows are to be merged")
        raise unbalanced(f"key {key}: an older row of it is to be merged, the newest is folded")


def refuse_split_keys(rows: DataFrame, pipeline: Pipeline) -> None:
    """Only that: for rows that are not one batch of a topic."""
    for row in collect_many({"split": first_ambiguous_key(rows, pipeline, "_least < _greatest")})["split"]:
        refuse_split(key_of(row, pipeline.target.keys), row, pipeline.target.sequence)


def key_of(row: JsonRow | Row, keys: Sequence[str]) -> str:
    return ", ".join(f"{name}={row[name]}" for name in keys)


def first_ambiguous_key(rows: DataFrame, pipeline: Pipeline, besides: str = "true") -> DataFrame:
    """One pass over the keys of the batch; of several the first."""
    sequence = pipeline.target.sequence
    rows_of_key = rows.where(IS_RIVAL).groupBy(*pipeline.target.keys)
    found = rows_of_key.agg(*(column.alias(name) for name, column in aggregate_by_key(sequence).items()))
    ambiguous = found.where(f"({is_ambiguous(sequence)}) AND {besides}").orderBy(*pipeline.target.keys).limit(1)
    return ambiguous.drop("_newest", "_newest_merged")


@cache
def aggregate_by_key(sequence: str) -> dict[str, Column]:
    partition, is_merged, order = F.col(f"{RECORD}.partition"), F.col(DISPOSITION) == MERGE, order_value(sequence)
    return {
        "_rows": F.count("*"),
        "_merged": F.count_if(is_merged),
        "_newest": F.max(order),
        "_newest_merged": F.max(F.when(is_merged, order)),
        "_least": F.min(partition),
        "_greatest": F.max(partition),
    }


def is_ambiguous(sequence: str) -> str:
    split = " OR _least < _greatest" if sequence == POSITION else ""
    return f"_merged != 1 OR NOT (_newest <=> _newest_merged){split}"


def order_value(sequence: str) -> Column:
    """What is greatest in the newest row; of equal sequences any is. Inside of one partition the offset is enough."""
    return F.col(f"{RECORD}.offset" if sequence == POSITION else sequence)


def refuse_split(key: str, found: JsonRow, sequence: str) -> None:
    """Offsets of two partitions do not order events: without a sequence column a key must live in one partition."""
    if sequence == POSITION and found["_least"] < found["_greatest"]:
        raise SplitKeyError(
            (found["_least"], found["_greatest"]),
            f"key {key} came from partitions {found['_least']} and {found['_greatest']}, whose order nobody knows",
            "key messages by the table's key, or declare a sequence column in the pipeline file",
        )
