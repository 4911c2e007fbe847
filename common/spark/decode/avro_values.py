"""Read one Avro value as a column of a plain kind holds it, and open arrays, maps and records."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from common.settings.kinds import Kind
from common.spark.columns import is_utf8, let
from common.spark.decode.canonical_keys import one_zero
from common.spark.decode.nested import misfit, no_misfit, not_wanted, validation
from common.spark.validate.timestamps import in_years

NOT_UTF8 = "NOT_UTF8"
WRONG_TYPE = "WRONG_TYPE"
NO_TEXT = "the text is not UTF-8"


def typed_value(kind: str, raw: Column) -> Column:
    if kind in {"date", "timestamp"}:
        return F.when(in_years(raw, kind), raw)
    if kind in {"double", "float"}:
        return one_zero(raw.cast(kind))
    return raw.cast(kind)


def may_not_fit(kind: str) -> bool:
    return kind in {"date", "timestamp"} or kind.startswith("decimal")


class AvroForm:
    """Values as from_avro gives them. The schemas have already decided whether one is an array, a map or a record."""

    def plain(self, kind: str, raw: Column) -> Column:
        value = typed_value(kind, raw)
        if kind == "string":
            return validation(value, misfit(~is_utf8(raw), NOT_UTF8, F.lit(NO_TEXT)))
        if may_not_fit(kind):
            return let(value, lambda typed: self._fitting(kind, raw, typed))
        return validation(value, no_misfit())

    def _fitting(self, kind: str, raw: Column, typed: Column) -> Column:
        return validation(
            typed, misfit(raw.isNotNull() & typed.isNull(), WRONG_TYPE, not_wanted(kind, raw.cast("string")))
        )

    def elements(self, raw: Column) -> Column:
        return raw

    def entries(self, raw: Column) -> Column:
        return raw

    def member(self, raw: Column, name: str) -> Column:
        return raw[name]

    def is_struct(self, raw: Column) -> Column:
        return raw.isNotNull()

    def misfit(self, kind: Kind, raw: Column) -> Column:  # noqa: ARG002
        return no_misfit()

    def key_misfit(self, key: Column) -> Column:
        return misfit(~is_utf8(key), NOT_UTF8, F.lit("a key is not UTF-8"))
