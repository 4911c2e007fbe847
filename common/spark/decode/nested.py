"""Arrays, maps and structs: each value inside of them is judged as a column of its kind would be.

A judgement is a struct: `value` is what the column holds, and `wrong` is null or the first thing that does not fit, as
a reason, the place inside of the column (`[3].price`) and words.
"""

from collections.abc import Callable
from typing import Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.settings.kinds import Array, Kind, Map, Plain, Struct

VALUE = "value"
WRONG = "wrong"
# A key of a map is shown up to here.
SHOWN = 50


class Form(Protocol):
    """How a decoder opens its values. What has none of the declared parts gives null."""

    def plain(self, kind: str, found: Column) -> Column:
        """The judgement of one plain value."""

    def elements(self, found: Column) -> Column:
        """An array of what is inside of an array."""

    def entries(self, found: Column) -> Column:
        """A map of what is inside of a map."""

    def member(self, found: Column, name: str) -> Column:
        """What a struct has under this name."""

    def is_struct(self, found: Column) -> Column:
        """Whether it is there and has members."""

    def misfit(self, kind: Kind, found: Column) -> Column:
        """What is wrong with the array, map or struct itself, whatever is inside."""

    def key_misfit(self, key: Column) -> Column:
        """What is wrong with a key of a map."""


def judged(kind: Kind, found: Column, form: Form) -> Column:
    """The judgement of a value, which should be a column or a lambda's variable: it is named more than once."""
    if isinstance(kind, Plain):
        return form.plain(kind.name, found)
    if isinstance(kind, Array):
        return array_judged(kind, found, form)
    return map_judged(kind, found, form) if isinstance(kind, Map) else struct_judged(kind, found, form)


def array_judged(kind: Array, found: Column, form: Form) -> Column:
    def whole(parts: Column) -> Column:
        misfits = F.transform(
            parts, lambda part, place: below(part[WRONG], F.lit("["), place.cast("string"), F.lit("]"))
        )
        return judgement(F.transform(parts, lambda part: part[VALUE]), form.misfit(kind, found), first_of(misfits))

    return let(F.transform(form.elements(found), lambda each: judged(kind.element, each, form)), whole)


def map_judged(kind: Map, found: Column, form: Form) -> Column:
    """Keys go before values: entries have no order by which one of them would be the first."""

    def whole(parts: Column) -> Column:
        keys = F.transform(F.map_keys(parts), form.key_misfit)
        misfits = F.transform(F.map_entries(parts), inside)
        values = F.transform_values(parts, lambda _, part: part[VALUE])
        return judgement(values, form.misfit(kind, found), first_of(keys), first_of(misfits))

    def inside(entry: Column) -> Column:
        return below(entry["value"][WRONG], F.lit("['"), F.left(entry["key"], F.lit(SHOWN)), F.lit("']"))

    return let(F.transform_values(form.entries(found), lambda _, each: judged(kind.value, each, form)), whole)


def struct_judged(kind: Struct, found: Column, form: Form) -> Column:
    def whole(parts: Column) -> Column:
        values = F.struct(*(parts[name][VALUE].alias(name) for name, _ in kind.fields))
        misfits = (below(parts[name][WRONG], F.lit(f".{name}")) for name, _ in kind.fields)
        return judgement(F.when(form.is_struct(found), values), form.misfit(kind, found), *misfits)

    def member_judged(name: str, inner: Kind) -> Column:
        return let(form.member(found, name), lambda each: judged(inner, each, form))

    members = (member_judged(name, inner).alias(name) for name, inner in kind.fields)
    return let(F.struct(*members), whole)


def judgement(value: Column, *misfits: Column) -> Column:
    return F.struct(value.alias(VALUE), F.coalesce(*misfits).alias(WRONG))


def misfit(applies: Column, reason: str, words: Column) -> Column:
    """What is wrong where the condition holds, else null."""
    return F.when(applies, F.struct(F.lit(reason).alias("reason"), F.lit("").alias("place"), words.alias("words")))


def no_misfit() -> Column:
    return misfit(F.lit(False), "", F.lit(""))  # noqa: FBT003


def below(wrong: Column, *steps: Column) -> Column:
    """The same thing, as seen from one level above."""
    place = F.concat(*steps, wrong["place"]).alias("place")
    return F.when(wrong.isNotNull(), F.struct(wrong["reason"].alias("reason"), place, wrong["words"].alias("words")))


def first_of(misfits: Column) -> Column:
    return F.get(F.filter(misfits, lambda each: each.isNotNull()), F.lit(0))


def let(value: Column, use: Callable[[Column], Column]) -> Column:
    """`use(value)`, with the value computed once however often it is named."""
    return F.get(F.transform(F.array(value), use), F.lit(0))
