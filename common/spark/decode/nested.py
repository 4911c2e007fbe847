"""Validate arrays, maps and structs: each value inside of them as a column of its kind would be.

A validation is a struct. `value` is what the column holds. `wrong` is null, or the first misfit: a reason, the place
inside of the column (`[3].price`) and a message.
"""

from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.settings.kinds import Array, Kind, Map, Plain, Struct
from common.spark.columns import let

VALUE = "value"
WRONG = "wrong"
# How many characters of a map's key a message shows.
SHOWN = 50


class Form(Protocol):
    """A decoder's access to its raw values. A value without the declared parts gives null."""

    def plain(self, kind: str, raw: Column) -> Column:
        """Validate one plain value."""

    def elements(self, raw: Column) -> Column:
        """Return the raw elements of an array."""

    def entries(self, raw: Column) -> Column:
        """Return the raw entries of a map."""

    def member(self, raw: Column, name: str) -> Column:
        """Return the raw member of a struct that has this name."""

    def is_struct(self, raw: Column) -> Column:
        """True where the value is not null and has members."""

    def misfit(self, kind: Kind, raw: Column) -> Column:
        """Return the misfit of the array, map or struct itself, whatever is inside."""

    def key_misfit(self, key: Column) -> Column:
        """Return the misfit of a map's key."""


def validated(kind: Kind, raw: Column, form: Form) -> Column:
    """Validate a value, which should be a column or a lambda's variable, because it is named more than once."""
    if isinstance(kind, Plain):
        return form.plain(kind.name, raw)
    if isinstance(kind, Array):
        return validated_array(kind, raw, form)
    return validated_map(kind, raw, form) if isinstance(kind, Map) else validated_struct(kind, raw, form)


def validated_array(kind: Array, raw: Column, form: Form) -> Column:
    def whole(parts: Column) -> Column:
        misfits = F.transform(
            parts, lambda part, place: below(part[WRONG], F.lit("["), place.cast("string"), F.lit("]"))
        )
        return validation(F.transform(parts, lambda part: part[VALUE]), form.misfit(kind, raw), first_of(misfits))

    return let(F.transform(form.elements(raw), lambda each: validated(kind.element, each, form)), whole)


def validated_map(kind: Map, raw: Column, form: Form) -> Column:
    """Validate keys before values, because a map's entries have no order by which one of them is the first."""

    def whole(parts: Column) -> Column:
        keys = F.transform(F.map_keys(parts), form.key_misfit)
        misfits = F.transform(F.map_entries(parts), inside)
        values = F.transform_values(parts, lambda _, part: part[VALUE])
        return validation(values, form.misfit(kind, raw), first_of(keys), first_of(misfits))

    def inside(entry: Column) -> Column:
        return below(entry["value"][WRONG], F.lit("['"), F.left(entry["key"], F.lit(SHOWN)), F.lit("']"))

    return let(F.transform_values(form.entries(raw), lambda _, each: validated(kind.value, each, form)), whole)


def validated_struct(kind: Struct, raw: Column, form: Form) -> Column:
    def whole(parts: Column) -> Column:
        values = F.struct(*(parts[name][VALUE].alias(name) for name, _ in kind.fields))
        misfits = (below(parts[name][WRONG], F.lit(f".{name}")) for name, _ in kind.fields)
        return validation(F.when(form.is_struct(raw), values), form.misfit(kind, raw), *misfits)

    def validated_member(name: str, inner: Kind) -> Column:
        return let(form.member(raw, name), lambda each: validated(inner, each, form))

    members = (validated_member(name, inner).alias(name) for name, inner in kind.fields)
    return let(F.struct(*members), whole)


def validation(value: Column, *misfits: Column) -> Column:
    return F.struct(value.alias(VALUE), F.coalesce(*misfits).alias(WRONG))


def misfit(applies: Column, reason: str, words: Column) -> Column:
    """Return the misfit where the condition applies, else null."""
    return F.when(applies, F.struct(F.lit(reason).alias("reason"), F.lit("").alias("place"), words.alias("words")))


def no_misfit() -> Column:
    return misfit(F.lit(False), "", F.lit(""))  # noqa: FBT003


def below(wrong: Column, *steps: Column) -> Column:
    """Return the same misfit with its place as seen from one level above."""
    place = F.concat(*steps, wrong["place"]).alias("place")
    return F.when(wrong.isNotNull(), F.struct(wrong["reason"].alias("reason"), place, wrong["words"].alias("words")))


def first_of(misfits: Column) -> Column:
    return F.get(F.filter(misfits, lambda each: each.isNotNull()), F.lit(0))


def not_wanted(kind: str, instead: Column) -> Column:
    """Write the message for a value that is not of the declared kind."""
    return F.concat(F.lit(f"{kind} is wanted, not "), instead)


def validated_column(name: str) -> str:
    """Return the name of the temporary column that has the validation of a nested column."""
    return f"_validated_{name}"


def misfit_message(name: str) -> Column:
    """Write the message for the misfit of a nested column."""
    wrong = F.col(validated_column(name))[WRONG]
    return F.concat(F.lit(name), wrong["place"], F.lit(": "), wrong["words"])
