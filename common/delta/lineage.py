"""The lineage of a row: the place of its record, and the transaction that read it. It shows which of two came later.

With `lineage = true` each row of the table has it in a struct. A row of the base load has a transaction and no place.
A row without lineage was written before lineage was declared.
"""

import pyarrow as pa
import pyarrow.compute as pc
from delta.tables import DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.delta.format.writable_table import INDEXED, INDEXED_BY_NAME, INDEXED_COLUMNS, arrow_schema, leaf_paths
from common.model.merge_spec import LINEAGE
from common.model.position import Position
from common.model.record import RECORD
from common.settings.pipeline import Pipeline
from common.spark.sql_text import quoted

LINEAGE_TYPE = T.StructType(
    [
        T.StructField("topic", T.StringType()),
        T.StructField("topic_id", T.StringType()),
        T.StructField("partition", T.IntegerType()),
        T.StructField("offset", T.LongType()),
        T.StructField("epoch", T.IntegerType()),
        T.StructField("seq", T.LongType()),
    ]
)


def lineage_of(position: Position) -> Column:
    """Build the lineage of a record that `position`'s transaction read."""
    place = [F.col(f"{RECORD}.{name}") for name in ("topic", "partition", "offset")]
    return _lineage_struct(place[0], topic_id_of(position), *place[1:], F.lit(position.epoch), F.lit(position.seq))


def topic_id_of(position: Position) -> Column:
    """Find the id of a record's topic among those that the transaction read."""
    topic_ids = [F.when(F.col(f"{RECORD}.topic") == name, F.lit(each)) for name, each in position.topic_ids.items()]
    return F.coalesce(*topic_ids) if topic_ids else F.lit(None)


def lineage_of_arrow(records: pa.ChunkedArray, position: Position) -> pa.Array:
    """Build the lineage of records that are Arrow on the driver."""
    chunk = records.combine_chunks()
    names, ids = list(position.topic_ids), list(position.topic_ids.values())
    number = pc.index_in(chunk.field("topic"), value_set=pa.array(names, pa.string()))
    ours = {"topic_id": pc.take(pa.array(ids, pa.string()), number)}
    ours |= {name: pa.repeat(pa.scalar(getattr(position, name)), len(chunk)) for name in ("epoch", "seq")}
    fields = list(arrow_schema(LINEAGE_TYPE.jsonValue()["fields"]))
    values = [
        (ours[field.name] if field.name in ours else chunk.field(field.name)).cast(field.type) for field in fields
    ]
    return pa.StructArray.from_arrays(values, fields=fields)


def base_lineage(position: Position) -> Column:
    """Build the lineage of a row that came from no topic. It is older than all that its epoch read later."""
    nothing = F.lit(None)
    return _lineage_struct(nothing, nothing, nothing, nothing, F.lit(position.epoch), F.lit(position.seq))


def _lineage_struct(*values: Column) -> Column:
    named = [value.cast(field.dataType).alias(field.name) for field, value in zip(LINEAGE_TYPE, values, strict=True)]
    return F.struct(*named).cast(LINEAGE_TYPE)


def is_later(one: str, other: str) -> str:
    """Return the SQL for: `one` came after `other`. It is null where either lineage is unknown.

    In one partition the offset decides, also when it was read again under a new epoch. Otherwise the transaction
    decides, because batches arrive in order.
    """
    same_log = f"({one}.topic_id = {other}.topic_id AND {one}.partition = {other}.partition)"
    later_read = f"struct({one}.epoch, {one}.seq) > struct({other}.epoch, {other}.seq)"
    known = f"{one}.epoch IS NOT NULL AND {other}.epoch IS NOT NULL"
    return f"CASE WHEN {same_log} THEN {one}.offset > {other}.offset WHEN {known} THEN {later_read} END"


def has_lineage(table: DeltaTable) -> bool:
    return LINEAGE in table.toDF().columns


def ensure_lineage(spark: SparkSession, path: str, pipeline: Pipeline) -> None:
    """Add the lineage column to a table that was loaded without it. Its rows have none until an event changes them.

    The property is set first. After a kill between the two, the next run adds the column without statistics all the
    same.
    """
    if not pipeline.target.lineage or has_lineage(DeltaTable.forPath(spark, path)):
        return
    rows = spark.read.format("delta").load(path)
    table = f"delta.{quoted(path)}"
    details = DeltaTable.forPath(spark, path).detail().select("partitionColumns", "properties").first()
    assert details is not None  # noqa: S101  a table has exactly one
    wanted = without_statistics(rows, details["partitionColumns"], details["properties"])
    for name, value in wanted.items():
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{name}' = '{value}')")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS ({LINEAGE} {LINEAGE_TYPE.simpleString()})")


def without_statistics(rows: DataFrame, partition_by: list[str], properties: dict[str, str]) -> dict[str, str]:
    """Return properties by which a column after those of `rows` gets no statistics, because nobody searches by it.

    The owner's own properties about statistics are kept.
    """
    if INDEXED in properties or INDEXED_BY_NAME in properties:
        return {}
    fields = [field.jsonValue() for field in rows.schema if field.name not in partition_by]
    own = sum(len(leaf_paths(field)) for field in fields)
    return {INDEXED: str(min(own, INDEXED_COLUMNS))}
