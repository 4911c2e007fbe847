"""What a MERGE gets of a batch: one row a key, with its columns, whether it deletes, and where it comes from."""

from collections.abc import Callable
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from common.delta.lineage import LINEAGE, LINEAGE_TYPE, lineage_of, lineage_of_arrow
from common.engine.materialized_batch import MaterializedBatch
from common.merge.alignment import Alignment
from common.model.position import Position
from common.settings.pipeline import Pipeline
from common.spark.source import RECORD
from common.spark.validate.disposition import DISPOSITION, MERGE
from common.spark.validate.tombstone import DELETED


class Changes:
    """`frame` is made when Spark is to have them; `held` are the same rows in this process, where it has them."""

    def __init__(self, schema: T.StructType, make_frame: Callable[[], DataFrame], arrow: pa.Table | None) -> None:
        self.schema, self.arrow = schema, arrow
        self._make_frame = make_frame

    @cached_property
    def frame(self) -> DataFrame:
        return self._make_frame()

    def aligned(self, alignment: Alignment) -> "Changes":
        """The same changes under the names and in the types of the table."""
        arrow = None if self.arrow is None else alignment.arrow(self.arrow)
        return Changes(alignment.schema(self.schema), lambda: alignment.frame(self.frame), arrow)


def changes_of(judged: MaterializedBatch, pipeline: Pipeline, after: Position) -> Changes:
    """As the transaction `after` brings them."""
    lineage = pipeline.target.lineage
    names = [*pipeline.columns, *([DELETED] if pipeline.deletes else [])]
    fields = [judged.schema[name] for name in names]
    schema = T.StructType([*fields, *([T.StructField(LINEAGE, LINEAGE_TYPE)] if lineage else [])])

    def make_frame() -> DataFrame:
        origins = [lineage_of(after).alias(LINEAGE)] if lineage else []
        return judged.to_merge.select(*names, *origins)

    if judged.arrow is None:
        return Changes(schema, make_frame, None)
    to_merge = judged.arrow.filter(pc.equal(judged.arrow[DISPOSITION], MERGE))
    arrow = to_merge.select(names)
    if lineage:
        arrow = arrow.append_column(LINEAGE, lineage_of_arrow(to_merge[RECORD], after))
    return Changes(schema, make_frame, arrow)
