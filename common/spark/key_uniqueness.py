"""Find ambiguous keys of a batch that Spark holds: the query behind rules/key_uniqueness.py."""

from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from common.model.disposition import DISPOSITION, FOLDED, MERGE
from common.model.offsets import TopicPartition
from common.model.record import RECORD
from common.rules.key_uniqueness import key_of, refuse_split
from common.settings.pipeline import Pipeline
from common.spark.queries import collect_many

COMPETES = f"{DISPOSITION} IN ('{MERGE}', '{FOLDED}')"


def first_ambiguous_key(rows: DataFrame, pipeline: Pipeline, besides: str = "true") -> DataFrame:
    """Find the first ambiguous key of a batch, in one pass over its keys. `besides` is a further condition."""
    ordering = pipeline.target.ordering
    by_key = rows.where(COMPETES).groupBy(*pipeline.target.keys)
    groups = by_key.agg(*(column.alias(name) for name, column in key_aggregates(ordering).items()))
    ambiguous = groups.where(f"({is_ambiguous(ordering)}) AND {besides}").orderBy(*pipeline.target.keys).limit(1)
    return ambiguous.drop("_newest", "_newest_merged")


@cache
def key_aggregates(ordering: str | None) -> dict[str, Column]:
    partition = F.struct(*(f"{RECORD}.{name}" for name in TopicPartition._fields))
    is_merged, order = F.col(DISPOSITION) == MERGE, order_value(ordering)
    return {
        "_rows": F.count("*"),
        "_merged": F.count_if(is_merged),
        "_newest": F.max(order),
        "_newest_merged": F.max(F.when(is_merged, order)),
        "_least": F.min(partition),
        "_greatest": F.max(partition),
    }


def is_ambiguous(ordering: str | None) -> str:
    split = " OR _least < _greatest" if ordering is None else ""
    return f"_merged != 1 OR NOT (_newest <=> _newest_merged){split}"


def order_value(ordering: str | None) -> Column:
    """Return the column that is greatest in the newest row of a key. Inside of one partition the offset is enough."""
    return F.col(f"{RECORD}.offset" if ordering is None else ordering)


def refuse_split_keys(rows: DataFrame, pipeline: Pipeline) -> None:
    """Refuse keys of two partitions, and nothing else. It is for rows that are not one batch of a topic."""
    split = first_ambiguous_key(rows, pipeline, "_least < _greatest")
    for row in collect_many({"split": split})["split"]:
        refuse_split(key_of(row, pipeline.target.keys), row, pipeline.target.ordering)
