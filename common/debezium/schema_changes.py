"""What has changed between two schemas of a source table: a list of steps, each of a kind that a policy decides on.

A source sends no DDL with its rows. The next row simply has another schema, and a rename looks like a column that is
gone and another that is new.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from common.debezium.conversions import digits_of
from common.debezium.source_schema import SourceColumn, SourceSchema
from common.debezium.types import column_type

WHOLE = ("tinyint", "smallint", "int", "bigint")
# Digits that a decimal needs before its point, as Delta counts them.
WHOLE_DIGITS = {"tinyint": 10, "smallint": 10, "int": 10, "bigint": 20}
# MySQL and MariaDB read a boolean as a number in a snapshot and as a boolean in the stream.
SAME_TYPES = frozenset(("smallint", "boolean"))


class StepKind(StrEnum):
    """What a step does; each kind has its own policy."""

    ADD = "add"
    WIDEN = "widen"
    RETYPE = "retype"
    DROP = "drop"
    RENAME = "rename"
    REORDER = "reorder"
    NULLABLE = "nullable"
    NOT_NULL = "not null"
    KEYS = "keys"


class Policy(StrEnum):
    """What becomes of a step."""

    APPLY = "apply"
    IGNORE = "ignore"
    STOP = "stop"


# A rename that nobody has declared is never guessed: it stops, whatever the policies of add and drop say.
DEFAULT_POLICIES = {
    StepKind.ADD: Policy.APPLY,
    StepKind.WIDEN: Policy.APPLY,
    StepKind.RETYPE: Policy.STOP,
    StepKind.DROP: Policy.IGNORE,
    StepKind.RENAME: Policy.APPLY,
    StepKind.REORDER: Policy.IGNORE,
    StepKind.NULLABLE: Policy.APPLY,
    StepKind.NOT_NULL: Policy.IGNORE,
    StepKind.KEYS: Policy.STOP,
}


@dataclass(frozen=True)
class Step:
    """One difference of two schemas. `old` and `new` are columns as they were and are; None where there is none."""

    kind: StepKind
    old: SourceColumn | None = None
    new: SourceColumn | None = None
    detail: str = ""
    # True where it may be one half of a rename: the guard stops for it.
    is_guarded: bool = False

    @property
    def changes_old_rows(self) -> bool:
        """True where rows may have got a value without an event: a new column with a default, or without nulls.

        The value is that of `pg_attribute.attmissingval` and not the default that the event tells: the default may have
        been changed since. A volatile default, or another type, needs an incremental snapshot.
        """
        is_filled = self.new is not None and (self.new.default is not None or not self.new.optional)
        return self.kind is StepKind.RETYPE or (self.kind is StepKind.ADD and is_filled)

    @property
    def column(self) -> str:
        column = self.new or self.old
        return "" if column is None else column.name


def schema_steps(
    old: SourceSchema,
    new: SourceSchema,
    renames: Mapping[str, str] | None = None,
    not_renamed: Collection[str] = (),
) -> list[Step]:
    """Compare two schemas. `renames` has new names by old ones and `not_renamed` names of columns that were dropped,
    both as the pipeline file declares them."""
    steps, old = declared_renames(old, new, renames or {})
    gone = [column for column in old.columns if new.column(column.name) is None]
    added = [column for column in new.columns if old.column(column.name) is None]
    doubtful = [column for column in gone if column.name not in not_renamed]
    for column in gone:
        steps.append(Step(StepKind.DROP, column, is_guarded=column in doubtful and bool(candidates(column, added))))
    steps += [Step(StepKind.ADD, new=column, is_guarded=bool(candidates(column, doubtful))) for column in added]
    for column in new.columns:
        before = old.column(column.name)
        if before is not None:
            steps += column_steps(before, column)
    return [*steps, *table_steps(old, new)]


def declared_renames(
    old: SourceSchema, new: SourceSchema, renames: Mapping[str, str]
) -> tuple[list[Step], SourceSchema]:
    """Return the declared renames that have happened, and the old schema under the new names."""
    steps, columns, happened = [], [], {}
    for column in old.columns:
        name = renames.get(column.name)
        renamed = None if name is None else new.column(name)
        if renamed is None or new.column(column.name) is not None or old.column(renamed.name) is not None:
            columns.append(column)
            continue
        happened[column.name] = renamed.name
        steps.append(Step(StepKind.RENAME, column, renamed))
        columns.append(SourceColumn(renamed.name, column.type, column.optional, column.default))
    keys = None if old.keys is None else tuple(happened.get(key, key) for key in old.keys)
    return steps, SourceSchema(tuple(columns), keys)


def candidates(column: SourceColumn, others: list[SourceColumn]) -> list[SourceColumn]:
    """Return the columns that this one may have been renamed to or from: those of the same Delta type."""
    return [other for other in others if delta_type(other) == delta_type(column)]


def column_steps(old: SourceColumn, new: SourceColumn) -> list[Step]:
    """Compare a column with itself. Labels of an enum, and a default alone, are no change."""
    steps = []
    before, after = delta_type(old), delta_type(new)
    if before != after and {before, after} != SAME_TYPES:
        kind = StepKind.WIDEN if widens(before, after) else StepKind.RETYPE
        steps.append(Step(kind, old, new, f"{before} to {after}"))
    if old.optional != new.optional:
        steps.append(Step(StepKind.NULLABLE if new.optional else StepKind.NOT_NULL, old, new))
    return steps


def table_steps(old: SourceSchema, new: SourceSchema) -> list[Step]:
    """Compare the keys, and the order of the columns that both have."""
    steps = []
    if None not in (old.keys, new.keys) and set(old.keys or ()) != set(new.keys or ()):
        steps.append(Step(StepKind.KEYS, detail=f"{', '.join(old.keys or ())} to {', '.join(new.keys or ())}"))
    kept = [name for name in old.names if new.column(name) is not None]
    if kept != [name for name in new.names if old.column(name) is not None]:
        steps.append(Step(StepKind.REORDER, detail=", ".join(new.names)))
    return steps


def delta_type(column: SourceColumn) -> str:
    return column_type(column).delta


def widens(narrow: str, wide: str) -> bool:
    """True where Delta can widen a column from one type to the other, by Spark's names of them."""
    if narrow in WHOLE and wide in WHOLE:
        return WHOLE.index(narrow) < WHOLE.index(wide)
    if wide == "double":
        return narrow in {"float", *WHOLE[:3]}
    if not wide.startswith("decimal"):
        return False
    precision, scale = digits_of(wide)
    if narrow in WHOLE_DIGITS:
        return precision - scale >= WHOLE_DIGITS[narrow]
    if not narrow.startswith("decimal"):
        return False
    more_digits, more_scale = precision - digits_of(narrow)[0], scale - digits_of(narrow)[1]
    return more_scale >= 0 and more_digits >= more_scale


def policy_of(step: Step, policies: Mapping[StepKind, Policy] | None = None) -> Policy:
    """Return what becomes of a step. One half of a possible rename stops: both repairs are for the operator."""
    return Policy.STOP if step.is_guarded else {**DEFAULT_POLICIES, **(policies or {})}[step.kind]


def rename_guard(steps: list[Step]) -> str | None:
    """Describe what the guard stops for, with both repairs; None where nothing is guarded."""
    gone = next((step.old for step in steps if step.is_guarded and step.kind is StepKind.DROP), None)
    if gone is None:
        return None
    added = [step.new for step in steps if step.kind is StepKind.ADD and step.new is not None]
    new = " or ".join(f"'{column.name}'" for column in candidates(gone, added))
    return (
        f"column '{gone.name}' is gone and {new} of the same type is new: if it was renamed, add its new name to "
        f'renames of the table in the pipeline file ({gone.name} = "…"); if not, add "{gone.name}" to not_renamed'
    )
