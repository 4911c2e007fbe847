"""One Avro value as a column of a plain kind holds it, and how the values inside of others are reached."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.settings.kinds import Kind
from common.spark.decode.canonical_keys import one_zero
from common.spark.decode.nested import judgement, let, misfit, no_misfit
from common.spark.validate.timestamps import YEARS

NOT_UTF8 = "NOT_UTF8"
WRONG_TYPE = "WRONG_TYPE"
NO_TEXT = "the text is not UTF-8"


def typed_value(kind: str, found: Column) -> Column:
    if kind in {"date", "timestamp"}:
        first, last = (F.lit(end).cast("timestamp").cast(kind) for end in YEARS)
        return F.when(found.between(first, last), found)
    if kind in {"double", "float"}:
        return one_zero(found.cast(kind))
    return found.cast(kind)


def is_text(found: Column) -> Column:
    return F.call_function("is_valid_utf8", found)


def may_not_fit(kind: str) -> bool:
    return kind in {"date", "timestamp"} or kind.startswith("decimal")


def not_wanted(kind: str, found: Column) -> Column:
    return F.concat(F.lit(f"{kind} is wanted, not "), found.cast("string"))


class AvroForm:
    """Values as from_avro gives them; whether it is an array, a map or a record, the schemas have said already."""

    def plain(self, kind: str, found: Column) -> Column:
        value = typed_value(kind, found)
        if kind == "string":
            return judgement(value, misfit(~is_text(found), NOT_UTF8, F.lit(NO_TEXT)))
        if may_not_fit(kind):
            return let(value, lambda typed: self._fitting(kind, found, typed))
        return judgement(value, no_misfit())

    def _fitting(self, kind: str, found: Column, typed: Column) -> Column:
        return judgement(typed, misfit(found.isNotNull() & typed.isNull(), WRONG_TYPE, not_wanted(kind, found)))

    def elements(self, found: Column) -> Column:
        return found

    def entries(self, found: Column) -> Column:
        return found

    def member(self, found: Column, name: str) -> Column:
        return found[name]

    def is_struct(self, found: Column) -> Column:
        return found.isNotNull()

    def misfit(self, kind: Kind, found: Column) -> Column:  # noqa: ARG002
        return no_misfit()

    def key_misfit(self, key: Column) -> Column:
        return misfit(~is_text(key), NOT_UTF8, F.lit("a key is not UTF-8"))
