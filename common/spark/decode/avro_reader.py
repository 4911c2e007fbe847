"""How events are read: the subject's schema, reduced to the declared columns, and what may be read by it.

Avro's own Java code answers, as it will when it decodes. What it does not look at is looked at here: to it, a number of
milliseconds and one of microseconds are both a long.
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
from common.spark.decode.avro_types import branches, is_recursive, meaning, parts, speak, takes
from common.spark.jvm import java, java_message

# Java's generated classes leave this in a schema: texts would be decoded with question marks for what is not UTF-8.
AS_JAVA_STRING = "avro.java.string"
MOST_DIGITS = 38
# Where a schema holds others.
INSIDE = {"type", "fields", "items", "values"}


@dataclass(frozen=True)
class Reader:
    """The declared columns as an Avro schema, with the subject's names, aliases and defaults for them."""

    text: str
    spark: SparkSession = field(repr=False, compare=False)
    schema: Any = field(repr=False, compare=False)

    @classmethod
    def of(cls, spark: SparkSession, found: Registered, columns: dict[str, str], where: str) -> "Reader":
        """Every column must be a field, of a type that fits: found before anything is read."""
        unusable = refusal_of_kind(found)
        if unusable:
            raise ConfigurationError(f"{where} {unusable}", "name a subject with Avro schemas in [source.registry]")
        try:
            schema = parsed(spark, found.text)
        except Py4JJavaError as error:
            raise ConfigurationError(
                f"{where} is no Avro schema ({java_message(error)})", "register it anew"
            ) from error
        if schema.getType().getName() != "record":
            raise ConfigurationError(f"{where} is no record", "name a subject whose values are records")
        refuse_unfit(schema, columns, where)
        text = json.dumps(plain(json.loads(Projection(spark, schema, columns).record(schema).toString())))
        return cls(text, spark, parsed(spark, text))

    def refusal(self, found: Registered) -> str | None:
        """Why records by this schema cannot be read, in words; None where they can."""
        unusable = refusal_of_kind(found)
        if unusable:
            return unusable
        try:
            writer = parsed(self.spark, found.text)
            return self._incompatible(writer)
        except Py4JJavaError as error:
            return f"is not usable: {java_message(error)}"

    def in_full(self, found: Registered) -> str:
        """The schema as Java writes it: without what JSON lets a writer say in several ways."""
        return str(parsed(self.spark, found.text).toString())

    def _incompatible(self, writer: Any) -> str | None:
        if is_recursive(writer):
            # As deep as a record likes: a task's stack would overflow, and that ends the JVM instead of failing it.
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
        """A number or some bytes that would be read as something else than they were written as, at any level."""
        (wanted,) = branches(mine)
        for branch in branches(written):
            if meaning(branch) != meaning(wanted):
                return f"has {speak(branch)} in '{place}', {speak(wanted)} is wanted"
            for inner, found, step in self._inside(wanted, branch):
                other = self._other_meaning(inner, found, f"{place}{step}".removeprefix("."))
                if other:
                    return other
        return None

    def _inside(self, wanted: Any, written: Any) -> Iterator[tuple[Any, Any, str]]:
        """What two types are made of, side by side, and where it is."""
        name = wanted.getType().getName()
        if name != written.getType().getName() or name not in {"record", "array", "map"}:
            return
        if name != "record":
            yield parts(wanted)[0], parts(written)[0], "[]"
            return
        look_up = java(self.spark, "org.apache.avro.SchemaCompatibility").lookupWriterField
        for field_wanted in wanted.getFields():
            found = look_up(written, field_wanted)
            if found is not None:
                yield field_wanted.schema(), found.schema(), f".{field_wanted.name()}"


def refusal_of_kind(found: Registered) -> str | None:
    if found.kind != AVRO:
        return f"is {found.kind}, not Avro"
    return "refers to other schemas of the registry, which is not supported" if found.has_references else None


def parsed(spark: SparkSession, text: str) -> Any:
    """As Spark's from_avro does it."""
    return java(spark, "org.apache.avro.Schema$Parser")().setValidateDefaults(False).parse(text)


def refuse_unfit(schema: Any, columns: dict[str, str], where: str) -> None:
    for name, kind in columns.items():
        found = schema.getField(name)
        if found is None:
            known = ", ".join(each.name() for each in schema.getFields())
            raise ConfigurationError(
                f"source.columns.{name}: {where} has no such field; it has: {known}",
                "correct the column, or name in source.registry.version a version that has it",
            )
        if not is_plain(kind) and is_recursive(found.schema()):
            raise ConfigurationError(
                f"source.columns.{name}: in {where} a record contains itself", "leave the column out: docs/avro.md"
            )
        if not takes(parse_kind(kind), found.schema()):
            raise ConfigurationError(
                f"source.columns.{name}: {kind} is declared, and {where} has {speak(found.schema())}",
                "declare the type that fits: docs/avro.md",
            )


def plain(schema: Any) -> Any:
    """Texts as bytes, and decimals with all digits that their bytes may hold: Spark keeps only the last 64 bits of one
    that is declared with fewer than 19, whatever the record says."""
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
    """The most that so many bytes hold whatever they are, and that Spark's decimals do."""
    return MOST_DIGITS if size is None else min(MOST_DIGITS, len(str(2 ** (8 * size - 1) - 1)) - 1)
