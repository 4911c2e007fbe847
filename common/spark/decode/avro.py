"""Avro values to typed columns, each by the schema that it was written by, in the JVM: docs/avro.md.

A value is a zero byte, the id of its writer's schema in four bytes, and one Avro datum. Spark's from_avro knows nothing
of the five bytes, gives a struct of nulls for what it cannot read, and ignores what follows the datum.
"""

import json
import secrets
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from common.model.disposition import REASON
from common.model.record import RECORD
from common.settings.kinds import is_plain, parse_kind, sql_type
from common.spark.decode.avro_values import (
    NO_TEXT,
    NOT_UTF8,
    WRONG_TYPE,
    AvroForm,
    is_text,
    may_not_fit,
    not_wanted,
    typed_value,
)
from common.spark.decode.avro_writers import Writer, Writers
from common.spark.decode.nested import VALUE, WRONG, judged
from common.spark.validate.rejection import Rejection

MARKED = "_marked"
HEADER = "_header"
AVRO = "_avro"
HEADER_BYTES = 5
GREATEST_INT = 2**31 - 1
# The reason of the records whose schema has to be asked for first; no batch is committed with it.
UNSEEN = "UNSEEN_SCHEMA"
# Every record is read with one field more, whose value is appended to its bytes: what is missing or left over comes to
# light there. No record can bring the mark along, because it is a new one in each process. A double is the quickest of
# Avro's values with a fixed size, and between 1 and 2 all of them are ordinary numbers.
MARK = 1 + secrets.randbits(52) * 2.0**-52
MARK_BYTES = struct.pack("<d", MARK)
MARK_FIELD = "_alluvium_mark"
OPTIONS = {"mode": "PERMISSIVE", "datetimeRebaseMode": "CORRECTED"}


@dataclass(frozen=True)
class AvroDecoder:
    """One datum a record, behind the id of its schema. The foreign ids of a batch are known once it was looked at."""

    columns: dict[str, str]
    max_bytes: int
    writers: Writers
    foreign: Sequence[int] | None = None

    def with_event(self, records: DataFrame) -> DataFrame:
        """The value is asked for once: each time that a row gives its bytes, it gives a copy of them."""
        marked_value = F.concat(F.col(f"{RECORD}.value"), F.lit(MARK_BYTES))
        header = F.when(length() <= self.max_bytes, F.substring(MARKED, 1, HEADER_BYTES))
        headed = records.withColumn(MARKED, marked_value).withColumn(HEADER, header)
        decoded = headed.withColumn(AVRO, self._decoded())
        nested = {judged_column(name): judged_value(name, self.columns[name]) for name in self._nested()}
        judged = decoded.withColumns(nested) if nested else decoded
        return judged.withColumns({name: typed(name, kind) for name, kind in self.columns.items()})

    def temporary_columns(self) -> list[str]:
        return [MARKED, HEADER, AVRO, *map(judged_column, self._nested())]

    def rejections(self) -> list[Rejection]:
        return [*of_header(self.max_bytes), *self._of_schema(), *of_datum(), *self._of_values()]

    def key_rejections(self, keys: Sequence[str]) -> list[Rejection]:
        raise NotImplementedError("message keys are not decoded: a pipeline file that would need it is refused")

    def with_schemas_seen_in(self, judged: Callable[[], DataFrame]) -> "AvroDecoder | None":
        """A question of one row, to rows that are materialised already."""
        header = F.substring(f"{RECORD}.value", 1, HEADER_BYTES)
        (unseen,) = judged().where(F.col(REASON) == UNSEEN).agg(F.collect_set(header)).collect()
        ids = sorted(int.from_bytes(found[1:]) for found in unseen[0])
        if not ids:
            return None
        return AvroDecoder(self.columns, self.max_bytes, self.writers, self.writers.look_up(ids))

    def _decoded(self) -> Column:
        """Each row by its own schema only: of the branches of a CASE, the one that applies is computed."""
        reader = self.writers.reader.text
        found = F.when(F.lit(False), datum(reader, reader))  # noqa: FBT003
        for writer in self._readable():
            found = found.when(F.col(HEADER) == header_of(writer.id), datum(writer.text, reader))
        return found

    def _nested(self) -> list[str]:
        return [name for name, kind in self.columns.items() if not is_plain(kind)]

    def _readable(self) -> list[Writer]:
        return [writer for writer in self.writers.known.values() if writer.refusal is None]

    def _of_schema(self) -> list[Rejection]:
        known = F.col(HEADER).isin([header_of(number) for number in self.writers.known])
        refused = [
            Rejection(
                "UNREADABLE_SCHEMA",
                F.col(HEADER) == header_of(writer.id),
                F.lit(f"schema {writer.id} {writer.refusal}"),
            )
            for writer in self.writers.known.values()
            if writer.refusal is not None
        ]
        if self.foreign is None:
            return [*refused, Rejection(UNSEEN, ~known, spoken_id(""))]
        foreign = F.col(HEADER).isin([header_of(number) for number in self.foreign])
        subject = self.writers.subject.name
        return [
            *refused,
            Rejection("WRONG_SUBJECT", foreign, spoken_id(f" is no version of subject {subject}")),
            Rejection("UNKNOWN_SCHEMA", ~known, spoken_id(": the registry has no such schema")),
        ]

    def _of_values(self) -> list[Rejection]:
        return [rejection for name, kind in self.columns.items() for rejection in of_value(name, kind)]


# Columns belong to no table and are made by many calls into the JVM: each once, and not for each batch.
@cache
def datum(writer: str, reader: str) -> Column:
    # Without its header: to Avro's reader, a field to skip costs more than a copy.
    content = F.substring(MARKED, HEADER_BYTES + 1, GREATEST_INT)
    return from_avro(content, marked(writer), {**OPTIONS, "avroSchema": marked(reader)})


@cache
def of_header(max_bytes: int) -> tuple[Rejection, ...]:
    too_long = F.concat(length(), F.lit(f" bytes, {max_bytes} allowed"))
    too_short = F.concat(length(), F.lit(" bytes, too few for the id of a schema"))
    first = F.substring(HEADER, 1, 1)
    return (
        Rejection("NULL_VALUE", F.col(MARKED).isNull(), F.lit("the record has no value")),
        Rejection("OVERSIZED", length() > max_bytes, too_long),
        Rejection("NO_HEADER", length() < HEADER_BYTES, too_short),
        Rejection("BAD_MAGIC", first != F.lit(b"\x00"), F.concat(F.lit("the first byte is "), F.hex(first))),
    )


def length() -> Column:
    """Of the value itself."""
    return F.length(MARKED) - len(MARK_BYTES)


@cache
def of_datum() -> tuple[Rejection, ...]:
    """Null is the mark where the bytes ended before it, or could not be read up to it."""
    mark = F.col(f"{AVRO}.{MARK_FIELD}")
    return (
        Rejection("NOT_AVRO", mark.isNull(), spoken_id(": the bytes are no whole record of it")),
        Rejection("TRAILING_BYTES", mark != F.lit(MARK), spoken_id(": bytes are left over after the record")),
    )


@cache
def of_value(name: str, kind: str) -> tuple[Rejection, ...]:
    """What is Avro, and no value of the column's kind: its bytes are no text, or the year has five digits."""
    if not is_plain(kind):
        return of_nested(name)
    found = event(name)
    if kind == "string":
        return (Rejection(NOT_UTF8, ~is_text(found), F.lit(f"{name}: {NO_TEXT}")),)
    if may_not_fit(kind):
        unfit = found.isNotNull() & F.col(name).isNull()
        return (Rejection(WRONG_TYPE, unfit, F.concat(F.lit(f"{name}: "), not_wanted(kind, found))),)
    return ()


def of_nested(name: str) -> tuple[Rejection, ...]:
    """The same for the first value inside of the column that does not fit."""
    wrong = F.col(judged_column(name))[WRONG]
    words = F.concat(F.lit(name), wrong["place"], F.lit(": "), wrong["words"])
    return tuple(
        Rejection(reason, F.coalesce(wrong["reason"] == reason, F.lit(False)), words)  # noqa: FBT003
        for reason in (NOT_UTF8, WRONG_TYPE)
    )


@cache
def typed(name: str, kind: str) -> Column:
    if not is_plain(kind):
        return F.col(judged_column(name))[VALUE].cast(sql_type(kind))
    return typed_value(kind, event(name))


@cache
def judged_value(name: str, kind: str) -> Column:
    return judged(parse_kind(kind), event(name), AvroForm())


def judged_column(name: str) -> str:
    return f"_judged_{name}"


def event(name: str) -> Column:
    return F.col(f"{AVRO}.{name}")


@cache
def header_of(number: int) -> Column:
    return F.lit(b"\x00" + number.to_bytes(HEADER_BYTES - 1))


def spoken_id(words: str) -> Column:
    number = F.conv(F.hex(F.substring(HEADER, 2, HEADER_BYTES - 1)), 16, 10)
    return F.concat(F.lit("schema "), number, F.lit(words))


def marked(schema: str) -> str:
    """The record with the mark behind it."""
    record = json.loads(schema)
    return json.dumps({**record, "fields": [*record["fields"], {"name": MARK_FIELD, "type": "double"}]})
