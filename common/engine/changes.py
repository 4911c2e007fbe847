"""Make the changes of a batch: what its transaction brings to the table."""

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from common.delta.lineage import LINEAGE_TYPE, lineage_of, lineage_of_arrow
from common.engine.materialized_batch import MaterializedBatch
from common.merge.changes import Changes
from common.model.disposition import DELETED, DISPOSITION, MERGE
from common.model.merge_spec import LINEAGE
from common.model.position import Position
from common.model.record import RECORD
from common.settings.pipeline import Pipeline


def changes_of(batch: MaterializedBatch, pipeline: Pipeline, after: Position) -> Changes:
    """The rows to merge of a deduplicated batch, with the lineage of the transaction `after`."""
    lineage = pipeline.target.lineage
    names = [*pipeline.columns, *([DELETED] if pipeline.deletes else [])]
    fields = [batch.schema[name] for name in names]
    schema = T.StructType([*fields, *([T.StructField(LINEAGE, LINEAGE_TYPE)] if lineage else [])])

    def make_frame() -> DataFrame:
        lineages = [lineage_of(after).alias(LINEAGE)] if lineage else []
        return batch.to_merge.select(*names, *lineages)

    if batch.arrow is None:
        return Changes(schema, make_frame, None)
    to_merge = batch.arrow.filter(pc.equal(batch.arrow[DISPOSITION], MERGE))
    arrow = to_merge.select(names)
    if lineage:
        arrow = arrow.append_column(LINEAGE, lineage_of_arrow(to_merge[RECORD], after))
    return Changes(schema, make_frame, arrow)
