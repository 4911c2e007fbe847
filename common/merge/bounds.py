"""Literal bounds on the table, from the batch's own values: all that open Delta can leave files unread by.

A row of the table that has a key of the batch also has the batch's value in each prune column, because the column is
part of the key or never changes for one. So what holds none of these values holds none of these rows. docs/pruning.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.merge.quoting import literal, quoted
from common.settings.pipeline import Pipeline

# So many ranges a column: one late row does not widen the bounds to the whole history.
SPANS = 64
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Between two neighbours of these there is nothing.
WHOLE = (T.IntegerType, T.LongType, T.DateType)


@dataclass(frozen=True)
class Span:
    """From the first to the last value of a range, both as SQL literals of the column's own type."""

    first: str
    last: str

    def holds(self, column: str) -> str:
        if self.first == self.last:
            return f"{column} = {self.first}"
        return f"{column} BETWEEN {self.first} AND {self.last}"


@dataclass(frozen=True)
class Values:
    """What a batch has in one column."""

    spans: Sequence[Span]
    has_null: bool


def bounds(changes: DataFrame, pipeline: Pipeline) -> str | None:
    """An SQL condition on the table, as `t`, that every row with a key of the batch fulfils. None: any row may."""
    columns = pipeline.target.prune_by
    found = values(changes, columns) if columns else {}
    return condition(found, pipeline)


def condition(found: Mapping[str, Values], pipeline: Pipeline) -> str | None:
    keys = pipeline.target.keys
    terms = [term(name, each, is_key=name in keys) for name, each in found.items() if is_told(each, pipeline)]
    return " AND ".join(f"({each})" for each in terms) or None


def is_told(found: Values, pipeline: Pipeline) -> bool:
    """A tombstone tells its key alone: what its row has in another column is unknown."""
    return not (pipeline.deletes and found.has_null)


def term(name: str, found: Values, *, is_key: bool) -> str:
    """Rows from before a column was declared may have a null in it; no key is null."""
    column = f"t.{quoted(name)}"
    branches = [span.holds(column) for span in found.spans]
    return " OR ".join(branches if is_key else [*branches, f"{column} IS NULL"])


def values(changes: DataFrame, columns: Sequence[str]) -> dict[str, Values]:
    """What the batch has in each column, divided at the widest gaps: one query, at most SPANS rows a column."""
    kinds = [changes.schema[name].dataType for name in columns]
    entries = [entry(place, name, kind) for place, (name, kind) in enumerate(zip(columns, kinds, strict=True))]
    of_column = Window.partitionBy("place")
    listed = changes.select(F.inline(F.array(*entries)))
    known = listed.withColumn("has_null", F.max(F.col("value").isNull()).over(of_column)).where("value IS NOT NULL")
    followed = known.withColumns(
        {"before": F.lag("value").over(of_column.orderBy("value")), "last": F.max("value").over(of_column)}
    )
    gap = F.col("value.ordinal") - F.col("before.ordinal")
    widest_first = of_column.orderBy(gap.desc_nulls_first())
    starts = (
        followed.withColumn("rank", F.row_number().over(widest_first))
        .where(F.col("before").isNull() | ((F.col("rank") <= SPANS) & (gap > F.col("step"))))
        .orderBy("place", "value")
        .collect()
    )
    return {
        name: of_starts([row for row in starts if row["place"] == place], kind)
        for place, (name, kind) in enumerate(zip(columns, kinds, strict=True))
    }


def entry(place: int, name: str, kind: T.DataType) -> Column:
    """A value as a number that tells how far it is from another, and, of a text, as itself."""
    column = F.col(name)
    number = ordinal(column, kind).cast("decimal(38,0)").alias("ordinal")
    itself = (column if isinstance(kind, T.StringType) else F.lit(None)).cast("string").alias("text")
    return F.struct(
        F.lit(place).alias("place"),
        F.lit(1 if isinstance(kind, WHOLE) else 0).alias("step"),
        F.when(column.isNotNull(), F.struct(number, itself)).alias("value"),
    )


def ordinal(column: Column, kind: T.DataType) -> Column:
    if isinstance(kind, T.DateType):
        return F.unix_date(column)
    if isinstance(kind, T.TimestampType):
        return F.unix_micros(column)
    if isinstance(kind, T.StringType):
        return of_prefix(column)
    return column


def of_prefix(text: Column) -> Column:
    """The first 14 bytes as one number, in the order of texts: two halves, because conv knows 64 bits."""
    digits = F.rpad(F.hex(F.substring(text.cast("binary"), 1, 14)), 28, "0")
    high, low = (F.conv(F.substring(digits, place, 14), 16, 10).cast("decimal(18,0)") for place in (1, 15))
    return high * F.lit(2**56).cast("decimal(17,0)") + low


def of_starts(starts: Sequence[Row], kind: T.DataType) -> Values:
    """Each start tells the end of the span before it; a column without any has nothing but nulls."""
    if not starts:
        return Values((), has_null=True)
    ends = [row["before"] for row in starts[1:]] + [starts[0]["last"]]
    spans = [Span(sql(row["value"], kind), sql(end, kind)) for row, end in zip(starts, ends, strict=True)]
    return Values(spans, has_null=starts[0]["has_null"])


def sql(value: Row, kind: T.DataType) -> str:
    """A literal of the column's own type: a cast would keep Delta from skipping by it."""
    number = int(value["ordinal"])
    if isinstance(kind, T.StringType):
        return literal(value["text"])
    if isinstance(kind, T.DateType):
        return f"DATE '{(EPOCH + timedelta(days=number)).date()}'"
    if isinstance(kind, T.TimestampType):
        return f"TIMESTAMP '{(EPOCH + timedelta(microseconds=number)).isoformat()}'"
    return f"{number}L" if isinstance(kind, T.LongType) else str(number)
