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

from common.rules.compare import comparable, grouped
from common.settings.pipeline import POSITION, Pipeline
from common.spark.source import RECORD, field_of
from common.spark.validate.disposition import FATE, FOLDED, MERGE


def fold(judged: DataFrame, pipeline: Pipeline, newest: Sequence[Column] = ()) -> DataFrame:
    """`newest` goes before the sequence, for rows that come from more than one reading of a topic."""
    return judged.withColumn(FATE, fold_of(pipeline, newest) if newest else folded(pipeline))


@cache
def folded(pipeline: Pipeline) -> Column:
    return fold_of(pipeline, ())


def fold_of(pipeline: Pipeline, newest: Sequence[Column]) -> Column:
    rivals = Window.partitionBy(FATE, *pipeline.target.keys).orderBy(*newest, *newest_first(pipeline.target.sequence))
    is_older = (F.col(FATE) == MERGE) & (F.row_number().over(rivals) > 1)
    return F.when(is_older, F.lit(FOLDED)).otherwise(F.col(FATE))


def newest_first(sequence: str) -> list[Column]:
    offset, partition = F.col(f"{RECORD}.offset"), F.col(f"{RECORD}.partition")
    return [offset.desc()] if sequence == POSITION else [F.col(sequence).desc(), offset, partition]


def fold_held(rows: pa.Table, pipeline: Pipeline) -> pa.Table:
    """The same for rows that this process holds."""
    fates = rows[FATE].combine_chunks()
    is_rival = pc.is_in(fates, pa.array([MERGE]))
    rivals, keys = rows.filter(is_rival), pipeline.target.keys
    in_turn = newest_first_held(rivals, pipeline.target.sequence)
    turns = np.empty_like(in_turn)
    turns[in_turn] = np.arange(len(in_turn))
    first = grouped(
        {**{key: comparable(rivals[key]) for key in keys}, "_turn": turns}, keys, {"_first": ("_turn", "min")}
    )
    is_newest = np.zeros(len(in_turn), dtype=bool)
    is_newest[in_turn[first["_first"].to_numpy()]] = True
    decided = pc.replace_with_mask(
        fates, is_rival, pc.if_else(pa.array(is_newest), *(pa.scalar(fate, fates.type) for fate in (MERGE, FOLDED)))
    )
    return rows.set_column(rows.schema.get_field_index(FATE), FATE, decided)


def newest_first_held(rivals: pa.Table, sequence: str) -> npt.NDArray[np.uint64]:
    """Their numbers."""
    columns = {"_offset": field_of(rivals, "offset"), "_partition": field_of(rivals, "partition")}
    order = [("_offset", "ascending"), ("_partition", "ascending")]
    if sequence == POSITION:
        order = [("_offset", "descending")]
    else:
        columns["_sequence"] = comparable(rivals[sequence])
        order.insert(0, ("_sequence", "descending"))
    found: npt.NDArray[np.uint64] = pc.sort_indices(pa.table(columns), order).to_numpy()
    return found
