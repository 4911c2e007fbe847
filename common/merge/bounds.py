"""Where the keys of a batch can be in the table, from the batch's own values: all that Delta can leave files unread by.

A row of the table that has a key of the batch also has the batch's value in each prune column, because the column is
part of the key or never changes for one. So what holds none of these values holds none of these rows. docs/pruning.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from common.merge.quoting import quoted
from common.merge.values import Value, sql_literal
from common.settings.pipeline import Pipeline

# So many ranges a column: one late row does not widen the bounds to the whole history.
SPANS = 64
# Between two neighbours of these there is nothing.
WHOLE = (T.IntegerType, T.LongType, T.DateType)


@dataclass(frozen=True)
class Span:
    """From the first to the last value of a range."""

    first: Value
    last: Value


@dataclass(frozen=True)
class Bound:
    """One column's part: a row with a key of the batch lies in one of the spans, or has a null where that may be."""

    column: str
    kind: T.DataType
    spans: Sequence[Span]
    or_null: bool

    def sql(self) -> str:
        """As a condition on the table, which is called `t`."""
        column = f"t.{quoted(self.column)}"
        branches = [self._holds(column, span) for span in self.spans]
        return " OR ".join([*branches, f"{column} IS NULL"] if self.or_null else branches)

    def _holds(self, column: str, span: Span) -> str:
        first, last = sql_literal(span.first, self.kind), sql_literal(span.last, self.kind)
        return f"{column} = {first}" if first == last else f"{column} BETWEEN {first} AND {last}"


def sql_of(bounds: Sequence[Bound]) -> str:
    """All of them at once."""
    return " AND ".join(f"({bound.sql()})" for bound in bounds)


def bounds_of(changes: DataFrame, pipeline: Pipeline) -> list[Bound]:
    """What every row with a key of the batch fulfils. Empty: any row may have one."""
    columns = pipeline.target.prune_by
    if not columns:
        return []
    found = spans_of(changes, columns)
    told = [name for name in columns if not (pipeline.deletes and found[name].has_null)]
    # Rows from before a column was declared may have a null in it; no key is null.
    return [
        Bound(name, changes.schema[name].dataType, found[name].spans, or_null=name not in pipeline.target.keys)
        for name in told
    ]


@dataclass(frozen=True)
class Spans:
    """What a batch has in one column. Where it deletes, a null is a tombstone's: what its row has there is unknown."""

    spans: Sequence[Span]
    has_null: bool


def spans_of(changes: DataFrame, columns: Sequence[str]) -> dict[str, Spans]:
    """The values of each column, divided at the widest gaps: one task, at most SPANS rows a column."""
    kinds = [changes.schema[name].dataType for name in columns]
    entries = [entry(place, name, kind) for place, (name, kind) in enumerate(zip(columns, kinds, strict=True))]
    of_column = Window.partitionBy("place")
    listed = changes.select(F.inline(F.array(*entries))).coalesce(1)
    known = listed.withColumn("has_null", F.max(F.col("value").isNull()).over(of_column)).where("value IS NOT NULL")
    followed = known.withColumns(
        {"before": F.lag("value").over(of_column.orderBy("value")), "last": F.max("value").over(of_column)}
    )
    gap = F.col("value.ordinal") - F.col("before.ordinal")
    ranked = followed.withColumn("rank", F.row_number().over(of_column.orderBy(gap.desc_nulls_first())))
    starts = ranked.where(F.col("before").isNull() | ((F.col("rank") <= SPANS) & (gap > F.col("step")))).collect()
    return {
        name: between([row for row in starts if row["place"] == place], kind)
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
    return of_prefix(column) if isinstance(kind, T.StringType) else column


def of_prefix(text: Column) -> Column:
    """The first 14 bytes as one number, in the order of texts: two halves, because conv knows 64 bits."""
    digits = F.rpad(F.hex(F.substring(text.cast("binary"), 1, 14)), 28, "0")
    high, low = (F.conv(F.substring(digits, place, 14), 16, 10).cast("decimal(18,0)") for place in (1, 15))
    return high * F.lit(2**56).cast("decimal(17,0)") + low


def between(starts: Sequence[Row], kind: T.DataType) -> Spans:
    """Each start tells the end of the span before it; a column without any has nothing but nulls."""
    if not starts:
        return Spans((), has_null=True)
    ordered = sorted(starts, key=lambda row: (row["value"]["ordinal"], (row["value"]["text"] or "").encode()))
    ends = [row["before"] for row in ordered[1:]] + [ordered[0]["last"]]
    spans = [Span(as_value(row["value"], kind), as_value(end, kind)) for row, end in zip(ordered, ends, strict=True)]
    return Spans(spans, has_null=ordered[0]["has_null"])


def as_value(found: Row, kind: T.DataType) -> Value:
    return found["text"] if isinstance(kind, T.StringType) else int(found["ordinal"])
