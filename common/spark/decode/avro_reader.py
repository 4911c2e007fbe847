"""The reader schema of events: the subject's schema, reduced to the declared columns, and which writers fit it.

Avro's own Java code checks this, as it will when it decodes. What Java does not compare is compared here: to it, a
number of milliseconds and one of microseconds are both a long.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from common.errors import ConfigurationError
from common.registry.subject import AVRO, Registered
from common.settings.kinds import is_plain, parse_kind
from common.spark.decode.avro_projection import Projection
from common.spark.decode.avro_types import branches, is_recursive, meaning, parts, takes, type_text
from common.spark.jvm import java, java_message

# Java's generated classes leave this in a schema. With it, Avro decodes bytes that are not UTF-8 as question marks.
AS_JAVA_STRING = "avro.java.string"
MOST_DIGITS = 38
# The attributes of a schema that contain other schemas.
INSIDE = {"type", "fields", "items", "values"}


@dataclass(frozen=True)
class Reader:
    """The declared columns as an Avro schema, with the subject's names, aliases and defaults for them."""

    text: str
    spark: SparkSession = field(repr=False, compare=False)
    schema: Any = field(repr=False, compare=False)

    @classmethod
    def of(cls, spark: SparkSession, registered: Registered, columns: dict[str, str], where: str) -> "Reader":
        """Build the reader. Refuse a column that is no field, or a field of another type, before anything is read."""
        unusable = refusal_of_kind(registered)
        if unusable:
            raise ConfigurationError(f"{where} {unusable}", "name a subject with Avro schemas in [source.registry]")
        try:
            schema = parsed(spark, registered.text)
        except Py4JJavaError as error:
            raise ConfigurationError(
                f"{where} is no Avro schema ({java_message(error)})", "register it anew"
            ) from error
        if schema.getType().getName() != "record":
            raise ConfigurationError(f"{where} is no record", "name a subject whose values are records")
        refuse_unfit(schema, columns, where)
        text = json.dumps(plain(json.loads(Projection(spark, schema, columns).record(schema).toString())))
        return cls(text, spark, parsed(spark, text))

    def refusal(self, registered: Registered) -> str | None:
        """Say why records of this writer schema cannot be read; None where they can."""
        unusable = refusal_of_kind(registered)
        if unusable:
            return unusable
        try:
            writer = parsed(self.spark, registered.text)
            return self._incompatible(writer)
        except Py4JJavaError as error:
            return f"is not usable: {java_message(error)}"

    def in_full(self, registered: Registered) -> str:
        """Return the schema as Java writes it, without the variants of spelling that JSON allows."""
        return str(parsed(self.spark, registered.text).toString())

    def _incompatible(self, writer: Any) -> str | None:
        if is_recursive(writer):
            # A record may be of any depth. A deep one would overflow the task's stack, and that ends the JVM instead of
            # failing the record.
            return "contains itself"
        compatibility = java(self.spark, "org.apache.avro.SchemaCompatibility")
        pair = compatibility.checkReaderWriterCompatibility(self.schema, writer)
        if pair.getType().toString() != "COMPATIBLE":
            return "; ".join(
                f"{each.getMessage()} at {each.getLocation()}" for each in pair.getResult().getIncompatibilities()
            )
        java(self.spark, "org.apache.avro.Schema").applyAliases(writer, self.schema)
        return self._other_meaning(self.schema, writer)

    def _other_meaning(self, mine: Any, written: Any, place: str = "") -> str | None:
        """Find a number or bytes that would be read with another meaning than they were written with, at any level."""
        (wanted,) = branches(mine)
        for branch in branches(written):
            if meaning(branch) != meaning(wanted):
                return f"has {type_text(branch)} in '{place}', {type_text(wanted)} is wanted"
            for inner, inner_written, step in self._inside(wanted, branch):
                other = self._other_meaning(inner, inner_written, f"{place}{step}".removeprefix("."))
                if other:
                    return other
        return None

    def _inside(self, wanted: Any, written: Any) -> Iterator[tuple[Any, Any, str]]:
        """Yield the parts of two types side by side, with the place of each."""
        name = wanted.getType().getName()
        if name != written.getType().getName() or name not in {"record", "array", "map"}:
            return
        if name != "record":
            yield parts(wanted)[0], parts(written)[0], "[]"
            return
        look_up = java(self.spark, "org.apache.avro.SchemaCompatibility").lookupWriterField
        for field_wanted in wanted.getFields():
            field_written = look_up(written, field_wanted)
            if field_written is not None:
                yield field_wanted.schema(), field_written.schema(), f".{field_wanted.name()}"


def refusal_of_kind(registered: Registered) -> str | None:
    if registered.kind != AVRO:
        return f"is {registered.kind}, not Avro"
    return "refers to other schemas of the registry, which is not supported" if registered.has_references else None


def parsed(spark: SparkSession, text: str) -> Any:
    """Parse a schema as Spark's from_avro does."""
    return java(spark, "org.apache.avro.Schema$Parser")().setValidateDefaults(False).parse(text)


def refuse_unfit(schema: Any, columns: dict[str, str], where: str) -> None:
    for name, kind in columns.items():
        avro_field = schema.getField(name)
        if avro_field is None:
            known = ", ".join(each.name() for each in schema.getFields())
            raise ConfigurationError(
                f"source.columns.{name}: {where} has no such field; it has: {known}",
                "correct the column, or name in source.registry.version a version that has it",
            )
        if not is_plain(kind) and is_recursive(avro_field.schema()):
            raise ConfigurationError(
                f"source.columns.{name}: in {where} a record contains itself", "leave the column out: docs/avro.md"
            )
        if not takes(parse_kind(kind), avro_field.schema()):
            raise ConfigurationError(
                f"source.columns.{name}: {kind} is declared, and {where} has {type_text(avro_field.schema())}",
                "declare the type that fits: docs/avro.md",
            )


def plain(schema: Any) -> Any:
    """Return the schema with texts as bytes, and decimals with all digits that their bytes may hold.

    Spark keeps only the last 64 bits of a decimal that is declared with fewer than 19 digits, whatever the record has.
    """
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: plain(each) if name in INSIDE else each for name, each in schema.items()}
    kept.pop(AS_JAVA_STRING, None)
    if kept.get("logicalType") == "decimal":
        kept["precision"] = digits(kept.get("size"))
    return kept


def digits(size: int | None) -> int:
    """Return the digits that every value of so many bytes fits into, at most those of Spark's decimals."""
    return MOST_DIGITS if size is None else min(MOST_DIGITS, len(str(2 ** (8 * size - 1) - 1)) - 1)
