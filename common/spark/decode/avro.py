"""Decode Avro values to typed columns, each by the schema that it was written by, in the JVM: docs/avro.md.

A value is a zero byte, the id of its writer's schema in four bytes, and one Avro datum. Spark's from_avro does not know
the five bytes, gives a struct of nulls for what it cannot read, and ignores what follows the datum.
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
from common.spark.columns import is_utf8
from common.spark.decode.avro_values import (
    NO_TEXT,
    NOT_UTF8,
    WRONG_TYPE,
    AvroForm,
    may_not_fit,
    typed_value,
)
from common.spark.decode.avro_writers import Writer, Writers
from common.spark.decode.nested import VALUE, WRONG, misfit_message, not_wanted, validated, validated_column
from common.spark.validate.rejection import Rejection

MARKED = "_marked"
HEADER = "_header"
AVRO = "_avro"
HEADER_BYTES = 5
GREATEST_INT = 2**31 - 1
# The reason of records whose schema the registry has to be asked for first. No batch is committed with it.
UNSEEN = "UNSEEN_SCHEMA"
# Every record is read with one field more, the mark, whose value is appended to its bytes. The mark is wrong where
# bytes are missing or left over. No record can contain it, because it is a new one in each process. A double is the
# quickest of Avro's values with a fixed size, and between 1 and 2 all doubles are ordinary numbers.
MARK = 1 + secrets.randbits(52) * 2.0**-52
MARK_BYTES = struct.pack("<d", MARK)
MARK_FIELD = "_alluvium_mark"
OPTIONS = {"mode": "PERMISSIVE", "datetimeRebaseMode": "CORRECTED"}


@dataclass(frozen=True)
class AvroDecoder:
    """Decoder of one datum a record, behind the id of its schema.

    `foreign` has the ids of other subjects in a batch, or None as long as the registry was not asked for them.
    """

    columns: dict[str, str]
    max_bytes: int
    writers: Writers
    foreign: Sequence[int] | None = None

    def with_event(self, records: DataFrame) -> DataFrame:
        """Add the declared columns. The value is read once, because each read of its bytes copies them."""
        marked_value = F.concat(F.col(f"{RECORD}.value"), F.lit(MARK_BYTES))
        header = F.when(length() <= self.max_bytes, F.substring(MARKED, 1, HEADER_BYTES))
        headed = records.withColumn(MARKED, marked_value).withColumn(HEADER, header)
        decoded = headed.withColumn(AVRO, self._decoded())
        nested = {validated_column(name): validated_value(name, self.columns[name]) for name in self._nested()}
        validated_nested = decoded.withColumns(nested) if nested else decoded
        return validated_nested.withColumns({name: typed(name, kind) for name, kind in self.columns.items()})

    def temporary_columns(self) -> list[str]:
        return [MARKED, HEADER, AVRO, *map(validated_column, self._nested())]

    def rejections(self) -> list[Rejection]:
        return [*of_header(self.max_bytes), *self._of_schema(), *of_datum(), *self._of_values()]

    def key_rejections(self, keys: Sequence[str]) -> list[Rejection]:
        raise NotImplementedError("message keys are not decoded: a pipeline file that would need it is refused")

    def with_schemas_seen_in(self, classified: Callable[[], DataFrame]) -> "AvroDecoder | None":
        """Learn the schemas that this decoder did not know, by a query of one row; None where it knew all of them.

        The rows are materialized already.
        """
        header = F.substring(f"{RECORD}.value", 1, HEADER_BYTES)
        (unseen,) = classified().where(F.col(REASON) == UNSEEN).agg(F.collect_set(header)).collect()
        ids = sorted(int.from_bytes(each[1:]) for each in unseen[0])
        if not ids:
            return None
        return AvroDecoder(self.columns, self.max_bytes, self.writers, self.writers.look_up(ids))

    def _decoded(self) -> Column:
        """Decode each row by its own schema only. Spark computes only the branch of a CASE that applies."""
        reader = self.writers.reader.text
        decoded = F.when(F.lit(False), datum(reader, reader))  # noqa: FBT003
        for writer in self._readable():
            decoded = decoded.when(F.col(HEADER) == header_of(writer.id), datum(writer.text, reader))
        return decoded

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
            return [*refused, Rejection(UNSEEN, ~known, schema_message(""))]
        foreign = F.col(HEADER).isin([header_of(number) for number in self.foreign])
        subject = self.writers.subject.name
        return [
            *refused,
            Rejection("WRONG_SUBJECT", foreign, schema_message(f" is no version of subject {subject}")),
            Rejection("UNKNOWN_SCHEMA", ~known, schema_message(": the registry has no such schema")),
        ]

    def _of_values(self) -> list[Rejection]:
        return [rejection for name, kind in self.columns.items() for rejection in of_value(name, kind)]


# A column belongs to no table and takes many calls to make, so it is made once and not for each batch.
@cache
def datum(writer: str, reader: str) -> Column:
    # Without the header, because Avro's reader takes longer to skip a field than Spark to copy the bytes.
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
    """Return the length of the value itself, without the mark."""
    return F.length(MARKED) - len(MARK_BYTES)


@cache
def of_datum() -> tuple[Rejection, ...]:
    """Reject a datum by its mark. The mark is null where the bytes ended before it or could not be read up to it."""
    mark = F.col(f"{AVRO}.{MARK_FIELD}")
    return (
        Rejection("NOT_AVRO", mark.isNull(), schema_message(": the bytes are no whole record of it")),
        Rejection("TRAILING_BYTES", mark != F.lit(MARK), schema_message(": bytes are left over after the record")),
    )


@cache
def of_value(name: str, kind: str) -> tuple[Rejection, ...]:
    """Reject a value that is Avro, but not of the column's kind: bytes that are no text, or a year of five digits."""
    if not is_plain(kind):
        return of_nested(name)
    raw = event(name)
    if kind == "string":
        return (Rejection(NOT_UTF8, ~is_utf8(raw), F.lit(f"{name}: {NO_TEXT}")),)
    if may_not_fit(kind):
        unfit = raw.isNotNull() & F.col(name).isNull()
        return (Rejection(WRONG_TYPE, unfit, F.concat(F.lit(f"{name}: "), not_wanted(kind, raw.cast("string")))),)
    return ()


def of_nested(name: str) -> tuple[Rejection, ...]:
    """Reject a nested column by the first value inside of it that does not fit."""
    wrong, words = F.col(validated_column(name))[WRONG], misfit_message(name)
    return tuple(
        Rejection(reason, F.coalesce(wrong["reason"] == reason, F.lit(False)), words)  # noqa: FBT003
        for reason in (NOT_UTF8, WRONG_TYPE)
    )


@cache
def typed(name: str, kind: str) -> Column:
    if not is_plain(kind):
        return F.col(validated_column(name))[VALUE].cast(sql_type(kind))
    return typed_value(kind, event(name))


@cache
def validated_value(name: str, kind: str) -> Column:
    return validated(parse_kind(kind), event(name), AvroForm())


def event(name: str) -> Column:
    return F.col(f"{AVRO}.{name}")


@cache
def header_of(number: int) -> Column:
    return F.lit(b"\x00" + number.to_bytes(HEADER_BYTES - 1))


def schema_message(words: str) -> Column:
    number = F.conv(F.hex(F.substring(HEADER, 2, HEADER_BYTES - 1)), 16, 10)
    return F.concat(F.lit("schema "), number, F.lit(words))


def marked(schema: str) -> str:
    """Return the schema of a record with the mark behind it."""
    record = json.loads(schema)
    return json.dumps({**record, "fields": [*record["fields"], {"name": MARK_FIELD, "type": "double"}]})
