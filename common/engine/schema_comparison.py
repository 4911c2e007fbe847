"""Compare what a pipeline declares with its table: each difference, and what to do about it.

Nothing is read or changed here: docs/schema-changes.md has the table of differences, and table_fit.py acts on them.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as T

from common.delta.computed_columns import DEFAULT, GENERATED, IDENTITY, fills_itself
from common.delta.type_changes import holds, is_same, widens
from common.model.merge_spec import LINEAGE
from common.settings.kinds import is_kind
from common.settings.pipeline import Pipeline
from common.settings.quality import Rule
from common.spark.sql_text import quoted

CONSTRAINT = "delta.constraints."
CONSTRAINT_RULE = "constraint_"
INVARIANT = "delta.invariants"
CHAR_OR_VARCHAR = "__CHAR_VARCHAR_TYPE_STRING"
# The remedy where this table cannot be altered.
NEW_TABLE = "a new table"
WIDENING = "delta.enableTypeWidening"
APPEND_ONLY = "delta.appendOnly"


@dataclass(frozen=True)
class TableShape:
    """The columns, partitions and properties of a table, as its log tells them."""

    schema: T.StructType
    partition_by: tuple[str, ...]
    properties: Mapping[str, str]

    @classmethod
    def parse(cls, metadata: str) -> "TableShape":
        content: dict[str, Any] = json.loads(metadata)["metaData"]
        schema = T.StructType.fromJson(json.loads(content["schemaString"]))
        return cls(schema, tuple(content["partitionColumns"]), content["configuration"])

    def field(self, name: str) -> T.StructField | None:
        """Find a column by its name in any case, as Spark does."""
        return next((field for field in self.schema if field.name.lower() == name.lower()), None)

    def is_on(self, name: str) -> bool:
        return self.properties.get(name, "").lower() == "true"


@dataclass(frozen=True)
class Difference:
    """One difference in words, with its remedy: `clauses` or `edit`.

    Neither is given where pipeline and table work together as they are.
    """

    what: str
    # Clauses of ALTER TABLE.
    clauses: tuple[str, ...] = ()
    # True where the pipeline's policy lets the job run the clauses by itself.
    applies: bool = False
    # The line to write in the pipeline's file, or another remedy.
    edit: str | None = None

    @property
    def stops(self) -> bool:
        return not self.applies and (self.edit is not None or bool(self.clauses))


def compare(pipeline: Pipeline, declared: T.StructType, table: TableShape) -> list[Difference]:
    """List all differences between the declared columns, the derived ones included, and the table."""
    found = [each for field in declared for each in of_column(field, pipeline, table)]
    found += [each for field in table.schema for each in of_undeclared(field, declared, pipeline)]
    return [*found, *of_partitions(pipeline, table), *of_properties(table)]


def of_column(declared: T.StructField, pipeline: Pipeline, table: TableShape) -> Iterator[Difference]:
    field = table.field(declared.name)
    if field is None:
        yield of_missing(declared, pipeline)
        return
    yield from of_own_rules(field, declared.name, pipeline)
    if is_same(field.dataType, declared.dataType):
        return
    what = f"column '{field.name}' is {field.dataType.simpleString()}, not {declared.dataType.simpleString()}"
    steps = alterations(quoted(field.name), declared.dataType, field.dataType)
    if steps is None or (steps and computed_from(field, table)):
        yield Difference(what, edit=declare_as(declared.name, field.dataType, pipeline))
    elif not steps:
        yield Difference(what)
    else:
        yield of_alterations(what, steps, field, pipeline, table)


def of_alterations(
    what: str, steps: Sequence["Alteration"], field: T.StructField, pipeline: Pipeline, table: TableShape
) -> Difference:
    """Return the difference with its clauses.

    Delta alters no column that a constraint names, so the constraint is dropped and added again. That is left to the
    operator, because a job that is killed in between would leave the table without it.
    """
    policy, named = pipeline.target.schema_changes, constraints_on(field, table)
    needs_feature = any(step.kind == "widened" for step in steps) and not table.is_on(WIDENING)
    feature = [set_property(WIDENING, "true")] if needs_feature else []
    drops = [f"DROP CONSTRAINT {quoted(name)}" for name in named]
    adds = [f"ADD CONSTRAINT {quoted(name)} CHECK ({check})" for name, check in named.items()]
    applies = not named and all(getattr(policy, step.kind) == "apply" for step in steps)
    return Difference(what, (*drops, *feature, *(step.clause for step in steps), *adds), applies)


def constraints_on(field: T.StructField, table: TableShape) -> dict[str, str]:
    """Return the constraints whose text has the column's name, by their own names."""
    of_table = {
        name.removeprefix(CONSTRAINT): check for name, check in table.properties.items() if name.startswith(CONSTRAINT)
    }
    return {name: check for name, check in of_table.items() if is_named_in(check, field)}


def computed_from(field: T.StructField, table: TableShape) -> bool:
    """True where a generated column is computed from this one, which Delta then never alters."""
    return any(is_named_in((each.metadata or {}).get(GENERATED, ""), field) for each in table.schema)


def is_named_in(sql: str, field: T.StructField) -> bool:
    return re.search(rf"(?<!\w){re.escape(field.name)}(?!\w)", sql, re.IGNORECASE) is not None


@dataclass(frozen=True)
class Alteration:
    """One clause of ALTER TABLE, and the policy that decides whether the job may run it."""

    kind: str
    clause: str


def alterations(path: str, declared: T.DataType, stands: T.DataType) -> list[Alteration] | None:
    """Return the steps after which the table's column holds every declared value; None where no steps lead there."""
    if holds(stands, declared):
        return []
    if widens(stands, declared):
        return [Alteration("widened", f"ALTER COLUMN {path} TYPE {declared.simpleString()}")]
    if isinstance(declared, T.ArrayType) and isinstance(stands, T.ArrayType):
        return alterations(f"{path}.element", declared.elementType, stands.elementType)
    if isinstance(declared, T.MapType) and isinstance(stands, T.MapType) and is_same(declared.keyType, stands.keyType):
        return alterations(f"{path}.value", declared.valueType, stands.valueType)
    if isinstance(declared, T.StructType) and isinstance(stands, T.StructType):
        return alterations_of_struct(path, declared, stands)
    return None


def alterations_of_struct(path: str, declared: T.StructType, stands: T.StructType) -> list[Alteration] | None:
    """Return the steps for a struct. New fields come last, because a struct is cast by the order of its fields."""
    steps: list[Alteration] = []
    for place, field in enumerate(declared.fields):
        if place >= len(stands.fields):
            clause = f"ADD COLUMNS ({path}.{quoted(field.name)} {field.dataType.simpleString()})"
            steps.append(Alteration("added", clause))
            continue
        other = stands.fields[place]
        inner = alterations(f"{path}.{quoted(other.name)}", field.dataType, other.dataType)
        if inner is None or other.name.lower() != field.name.lower():
            return None
        steps += inner
    return None if len(stands.fields) > len(declared.fields) else steps


def of_missing(declared: T.StructField, pipeline: Pipeline) -> Difference:
    what, target = f"column '{declared.name}' is missing", pipeline.target
    if declared.name in target.keys:
        # Rows that are there would have a null in it, and no event would ever find them.
        return Difference(f"{what}, and a key", edit=NEW_TABLE)
    if declared.name in target.partition_by:
        return Difference(f"{what}, and to partition by", edit=NEW_TABLE)
    clause = f"ADD COLUMNS ({quoted(declared.name)} {declared.dataType.simpleString()})"
    return Difference(what, (clause,), target.schema_changes.added == "apply")


def of_own_rules(field: T.StructField, declared: str, pipeline: Pipeline) -> Iterator[Difference]:
    """Yield what the table itself does to the values of a column: CHAR padding, an identity, NOT NULL inside."""
    kept = (field.metadata or {}).get(CHAR_OR_VARCHAR, "")
    if kept.startswith("char"):
        # Spark pads the values that it reads, so that no key equals its own row.
        yield Difference(f"column '{field.name}' is {kept}", (f"ALTER COLUMN {quoted(field.name)} TYPE STRING",))
    if any(name.startswith(IDENTITY) for name in field.metadata or {}):
        where = "[target.derived]" if declared in pipeline.target.derived else "[source.columns]"
        yield Difference(
            f"column '{field.name}' is an identity column, which no event can set",
            edit=f"take '{declared}' out of {where}",
        )
    for path in not_null_inside(quoted(field.name), field.dataType):
        yield Difference(f"{path} inside of '{field.name}' is NOT NULL", (f"ALTER COLUMN {path} DROP NOT NULL",))


def not_null_inside(path: str, kind: T.DataType) -> Iterator[str]:
    if isinstance(kind, T.StructType):
        for field in kind:
            inner = f"{path}.{quoted(field.name)}"
            if not field.nullable:
                yield inner
            yield from not_null_inside(inner, field.dataType)
    elif isinstance(kind, T.ArrayType):
        yield from not_null_inside(f"{path}.element", kind.elementType)
    elif isinstance(kind, T.MapType):
        yield from not_null_inside(f"{path}.value", kind.valueType)


def of_undeclared(field: T.StructField, declared: T.StructType, pipeline: Pipeline) -> Iterator[Difference]:
    names = {each.name.lower() for each in declared}
    if field.name.lower() in names or field.name == LINEAGE or fills_itself(field):
        return
    policy = pipeline.target.schema_changes.undeclared
    if policy == "stop":
        yield Difference(
            f"column '{field.name}' is not declared",
            edit="declare it, or say in the pipeline's file what an event does with it: [target.schema_changes] "
            'undeclared = "keep" (the old value stays) or undeclared = "null"',
        )
    elif not field.nullable and (policy == "null" or DEFAULT not in (field.metadata or {})):
        yield Difference(
            f"column '{field.name}' is NOT NULL and not declared",
            (f"ALTER COLUMN {quoted(field.name)} DROP NOT NULL",),
        )


def of_partitions(pipeline: Pipeline, table: TableShape) -> Iterator[Difference]:
    wanted, declared = pipeline.target.partition_by, {name.lower() for name in pipeline.columns}
    # A partition column that Delta computes is the table's own affair, unless the pipeline declares it.
    own = {field.name for field in table.schema if fills_itself(field) and field.name.lower() not in declared}
    stands = [name for name in table.partition_by if name not in own]
    if [name.lower() for name in wanted] != [name.lower() for name in stands]:
        spelling = {name.lower(): name for name in pipeline.columns}
        listed = ", ".join(f'"{spelling.get(name.lower(), name)}"' for name in stands)
        yield Difference(
            f"it is partitioned by {', '.join(stands) or 'nothing'}, not by {', '.join(wanted) or 'nothing'}",
            edit=f"write partition_by = [{listed}] under [target]: a table keeps the partitions it was made with",
        )


def of_properties(table: TableShape) -> Iterator[Difference]:
    if table.is_on(APPEND_ONLY):
        yield Difference(
            f"property {APPEND_ONLY} is true, and an event may change a row",
            (set_property(APPEND_ONLY, "false"),),
        )


def set_property(name: str, value: str) -> str:
    """Write the clause with double quotes, which need no escape inside of a shell's single quotes."""
    return f'SET TBLPROPERTIES ("{name}" = "{value}")'


def declare_as(name: str, kind: T.DataType, pipeline: Pipeline) -> str:
    """Return the edit of the pipeline's file that gives the column the table's type."""
    if name in pipeline.target.derived:
        sql = f"CAST({pipeline.target.derived[name]} AS {kind.simpleString()})"
        return f"write {name} = {json.dumps(sql)} under [target.derived]"
    if not is_kind(kind.simpleString()):
        return NEW_TABLE
    return f'write {name} = "{kind.simpleString()}" under [source.columns]'


def table_rules(pipeline: Pipeline, table: TableShape) -> list[Rule]:
    """Turn the table's own constraints into rules of the pipeline.

    A record that breaks one is turned away alone, where Delta would refuse the whole batch.
    """
    fields = [(name, field) for name in pipeline.columns if (field := table.field(name)) is not None]
    found = [rule for name, field in fields for rule in rules_of_column(name, field, pipeline)]
    for name, check in table.properties.items():
        if name.startswith(CONSTRAINT):
            found.append(table_rule(f"{CONSTRAINT_RULE}{name.removeprefix(CONSTRAINT)}", must_be_true(check)))
    return found


def rules_of_column(name: str, field: T.StructField, pipeline: Pipeline) -> Iterator[Rule]:
    column, metadata = quoted(name), field.metadata or {}
    if not field.nullable and name not in pipeline.target.keys:
        yield table_rule(f"not_null_{name}", f"{column} IS NOT NULL")
    if GENERATED in metadata:
        yield table_rule(f"generated_{name}", f"{column} <=> ({metadata[GENERATED]})")
    if INVARIANT in metadata:
        expression = json.loads(metadata[INVARIANT])["expression"]["expression"]
        yield table_rule(f"invariant_{name}", must_be_true(expression))
    if varchar := re.fullmatch(r"varchar\((\d+)\)", metadata.get(CHAR_OR_VARCHAR, "")):
        yield table_rule(f"length_{name}", f"length({column}) <= {varchar[1]}")


def must_be_true(check: str) -> str:
    """Make the condition false for null, as in a constraint of Delta. A rule lets null pass."""
    return f"coalesce(({check}), false)"


def table_rule(name: str, check: str) -> Rule:
    """Build a rule without validation, because a constraint may have a name that no rule of a file may have."""
    return Rule.model_construct(name=name, check=check)
