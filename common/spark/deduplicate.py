"""Of the events of one key that may be merged, one is, the newest: the others are folded into it.

By the declared column; of equal sequences the first, as across batches, where only a greater one replaces a row: what
remains must not depend on where a batch ended.
"""

from collections.abc import Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from common.rules.compare import aggregate, sortable
from common.settings.pipeline import POSITION, Pipeline
from common.spark.source import RECORD, field_of
from common.spark.validate.disposition import DISPOSITION, FOLDED, MERGE


def deduplicate(judged: DataFrame, pipeline: Pipeline, newest: Sequence[Column] = ()) -> DataFrame:
    """`newest` goes before the sequence, for rows that come from more than one reading of a topic."""
    return judged.withColumn(DISPOSITION, deduplicated_column(pipeline, newest) if newest else deduplicated(pipeline))


@cache
def deduplicated(pipeline: Pipeline) -> Column:
    return deduplicated_column(pipeline, ())


def deduplicated_column(pipeline: Pipeline, newest: Sequence[Column]) -> Column:
    rows_of_key = Window.partitionBy(DISPOSITION, *pipeline.target.keys).orderBy(
        *newest, *newest_first(pipeline.target.sequence)
    )
    is_older = (F.col(DISPOSITION) == MERGE) & (F.row_number().over(rows_of_key) > 1)
    return F.when(is_older, F.lit(FOLDED)).otherwise(F.col(DISPOSITION))


def newest_first(sequence: str) -> list[Column]:
    offset, partition = F.col(f"{RECORD}.offset"), F.col(f"{RECORD}.partition")
    return [offset.desc()] if sequence == POSITION else [F.col(sequence).desc(), offset, partition]


def deduplicate_arrow(rows: pa.Table, pipeline: Pipeline) -> pa.Table:
    """The same for rows that this process holds."""
    dispositions = rows[DISPOSITION].combine_chunks()
    competes = pc.is_in(dispositions, pa.array([MERGE]))
    rows_of_key, keys = rows.filter(competes), pipeline.target.keys
    in_turn = newest_first_indices(rows_of_key, pipeline.target.sequence)
    turns = np.empty_like(in_turn)
    turns[in_turn] = np.arange(len(in_turn))
    first = aggregate(
        {**{key: sortable(rows_of_key[key]) for key in keys}, "_turn": turns}, keys, {"_first": ("_turn", "min")}
    )
    is_newest = np.zeros(len(in_turn), dtype=bool)
    is_newest[in_turn[first["_first"].to_numpy()]] = True
    decided = pc.replace_with_mask(
        dispositions,
        competes,
        pc.if_else(
            pa.array(is_newest), *(pa.scalar(disposition, dispositions.type) for disposition in (MERGE, FOLDED))
        ),
    )
    return rows.set_column(rows.schema.get_field_index(DISPOSITION), DISPOSITION, decided)


def newest_first_indices(rows_of_key: pa.Table, sequence: str) -> npt.NDArray[np.uint64]:
    """Their numbers."""
    columns = {"_offset": field_of(rows_of_key, "offset"), "_partition": field_of(rows_of_key, "partition")}
    order = [("_offset", "ascending"), ("_partition", "ascending")]
    if sequence == POSITION:
        order = [("_offset", "descending")]
    else:
        columns["_sequence"] = sortable(rows_of_key[sequence])
        order.insert(0, ("_sequence", "descending"))
    found: npt.NDArray[np.uint64] = pc.sort_indices(pa.table(columns), order).to_numpy()
    return found
