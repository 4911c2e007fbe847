"""Reduce a reader schema to the fields that the declared columns need."""

from typing import Any

from pyspark.sql import SparkSession

from common.settings.kinds import Array, Kind, Plain, Struct, parse_kind
from common.spark.decode.avro_types import branches, parts
from common.spark.jvm import java


class Projection:
    """Records without the fields that no column needs: Avro skips these, so that their values cannot fail a record.

    A record type that is used in several places keeps all fields that one of them needs, because Avro knows a type by
    its name.
    """

    def __init__(self, spark: SparkSession, schema: Any, columns: dict[str, str]) -> None:
        self._spark = spark
        self._made: dict[str, Any] = {}
        self._asked: dict[str, dict[str, None]] = {}
        self._ask(Struct(tuple((name, parse_kind(kind)) for name, kind in columns.items())), schema)

    def _ask(self, kind: Kind, schema: Any) -> None:
        if isinstance(kind, Plain):
            return
        (branch,) = branches(schema)
        if isinstance(kind, Struct):
            for name, inner in kind.fields:
                self._asked.setdefault(str(branch.getFullName()), {})[name] = None
                self._ask(inner, branch.getField(name).schema())
        else:
            self._ask(kind.element if isinstance(kind, Array) else kind.value, parts(branch)[0])

    def record(self, schema: Any) -> Any:
        name = str(schema.getFullName())
        if name not in self._made:
            fields = java(self._spark, "java.util.ArrayList")()
            for each in self._asked.get(name, ()):
                field = schema.getField(each)
                fields.add(java(self._spark, "org.apache.avro.Schema$Field")(field, self._reduced(field.schema())))
            self._made[name] = self._same_name(schema, fields)
        return self._made[name]

    def _same_name(self, schema: Any, fields: Any) -> Any:
        is_error = False
        made = java(self._spark, "org.apache.avro.Schema").createRecord(
            schema.getName(), None, schema.getNamespace(), is_error, fields
        )
        for alias in schema.getAliases():
            made.addAlias(alias)
        return made

    def _reduced(self, schema: Any) -> Any:
        name, types = schema.getType().getName(), java(self._spark, "org.apache.avro.Schema")
        if name == "record":
            return self.record(schema)
        if name == "array":
            return types.createArray(self._reduced(schema.getElementType()))
        if name == "map":
            return types.createMap(self._reduced(schema.getValueType()))
        if name != "union":
            return schema
        branches_reduced = java(self._spark, "java.util.ArrayList")()
        for each in schema.getTypes():
            branches_reduced.add(self._reduced(each))
        return types.createUnion(branches_reduced)
