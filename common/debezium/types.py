"""Which Delta type a column of a source gets, and how its values are converted.

What Delta cannot hold exactly is refused by its name, with the setting or the declaration that helps.
"""

from dataclasses import dataclass, replace

from common.debezium.conversions import MOST_DIGITS, Conversion, How, digits_of
from common.debezium.source_schema import SOURCE_LENGTH, SOURCE_SCALE, SourceColumn
from common.debezium.type_rules import CONNECT, LITERALS, RULES, TypeRule, rule_of
from common.errors import ConfigurationError
from common.settings.kinds import is_decimal

COARSE = {CONNECT + "Timestamp", CONNECT + "Time"}
MILLISECOND_DIGITS = 3
UNSIGNED_TYPES = ("BIGINT UNSIGNED", "INT8 UNSIGNED")
NUMERIC_TYPES = {"NUMERIC", "DECIMAL", "MONEY"}
# PostgreSQL's driver gives this length to a numeric without precision and scale.
NO_PRECISION = 131089


@dataclass(frozen=True)
class ColumnType:
    """What a column becomes: its conversion, and what an operator should know about it."""

    conversion: Conversion
    rule: TypeRule
    # True for a schema name that the table does not have: the literal type is kept, and said once.
    is_unknown: bool = False

    @property
    def delta(self) -> str:
        return self.conversion.delta


def column_type(column: SourceColumn, declared: str | None = None) -> ColumnType:
    """Decide what a column becomes. `declared` is the type that the pipeline file gives it."""
    rule = rule_of(column.type)
    conversion = by_source_type(column) or rule.convert(column.type)
    if declared is not None and declared != conversion.delta:
        conversion = by_declaration(column, conversion, declared)
    elif declared is None:
        refuse_coarse(column)
    refuse_long_decimals(column, conversion)
    return ColumnType(conversion, rule, column.type.name is not None and rule.name != column.type.name)


def by_source_type(column: SourceColumn) -> Conversion | None:
    """Convert by the source's own type where the connector propagates it and the message alone says too little."""
    source = (column.source_type or "").upper()
    if source.startswith(UNSIGNED_TYPES) and str(column.type) == "int64":
        return Conversion(How.UNSIGNED, "decimal(20,0)")
    precision, scale = column.type.number(SOURCE_LENGTH), column.type.number(SOURCE_SCALE)
    is_text = source in NUMERIC_TYPES and str(column.type) == "string"
    if is_text and precision not in (None, NO_PRECISION) and scale is not None and scale <= precision <= MOST_DIGITS:
        return Conversion(How.DECIMAL_TEXT, f"decimal({precision},{scale})")
    return None


def by_declaration(column: SourceColumn, conversion: Conversion, declared: str) -> Conversion:
    rule = rule_of(column.type)
    is_allowed = declared in rule.alternatives or (is_decimal(declared) and "decimal(p,s)" in rule.alternatives)
    if not is_allowed:
        others = " or ".join((conversion.delta, *rule.alternatives))
        raise ConfigurationError(
            f"column '{column.name}' is {column.type} in the events and cannot become {declared}",
            f"declare {others}, or leave the declaration out",
        )
    is_text = conversion.how in {How.PLAIN, How.DECIMAL_TEXT} and is_decimal(declared)
    return replace(conversion, delta=declared, how=How.DECIMAL_TEXT if is_text else conversion.how)


def refuse_coarse(column: SourceColumn) -> None:
    """Refuse times that Connect's own types have cut to milliseconds, unless the column never had more."""
    if column.type.name not in COARSE:
        return
    digits = column.type.number(SOURCE_LENGTH)
    if digits is None or digits > MILLISECOND_DIGITS:
        raise ConfigurationError(
            f"column '{column.name}' arrives as {column.type.name}, which has lost what is finer than a millisecond",
            "set time.precision.mode=adaptive in the connector, or declare the column's type in the pipeline file",
        )


def refuse_long_decimals(column: SourceColumn, conversion: Conversion) -> None:
    for part in every_part(conversion):
        if part.delta.startswith("decimal") and digits_of(part.delta)[0] > MOST_DIGITS:
            raise ConfigurationError(
                f"column '{column.name}' needs {part.delta}, and Delta has {MOST_DIGITS} digits at most",
                "set decimal.handling.mode=string in the connector, or declare a type that holds its values",
            )


def every_part(conversion: Conversion) -> list[Conversion]:
    """List a conversion and those inside of it."""
    return [conversion, *(inner for _, part in conversion.parts for inner in every_part(part))]


def known_rules() -> list[TypeRule]:
    """List the table in the order of the document: literal types, then names."""
    return [*LITERALS.values(), *RULES.values()]
