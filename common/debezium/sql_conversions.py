"""The conversions as Spark SQL: for each, the type in which a value is read, its result, and when it has none.

`reference` says what they mean, and a test compares both. The session's time zone is UTC, as conf/ sets it.
"""

from common.debezium.conversions import Carrier, Conversion, How, quoted
from common.debezium.special_values import SpecialValues
from common.debezium.sql_values import FLAT

JAVA_OBJECT = r"^[\\[]L.+;@[0-9a-f]+$"


def wire_type(conversion: Conversion, carrier: Carrier) -> str:
    """Return the type by which `from_json` reads a value, or in which Avro has it."""
    octets = "string" if carrier is Carrier.JSON else "binary"
    parts = {name: wire_type(part, carrier) for name, part in conversion.parts}
    how = conversion.how
    if how is How.ARRAY:
        return f"array<{parts['items']}>"
    if how is How.MAP:
        return f"map<string,{parts['values']}>"
    if how is How.ENTRIES:
        entry = f"struct<key:{parts['keys']},value:{parts['values']}>"
        return "array<array<string>>" if carrier is Carrier.JSON else f"array<{entry}>"
    if how is How.STRUCT:
        return f"struct<{','.join(f'{quoted(name)}:{part}' for name, part in parts.items())}>"
    known = {
        How.BINARY: octets,
        How.DECIMAL: octets,
        How.SCALED_DECIMAL: f"struct<scale:int,value:{octets}>",
        How.UNSIGNED: "bigint",
        How.DAYS: "int",
        How.EPOCH: "bigint",
        How.TIME: "bigint",
    }
    return known.get(how, conversion.delta if how in {How.PLAIN, How.FLOAT} else "string")


def value_sql(
    conversion: Conversion,
    value: str,
    carrier: Carrier,
    special: SpecialValues = SpecialValues.QUARANTINE,
    depth: int = 0,
) -> str:
    """Render the result of a conversion; null where the value is null, special by policy, or unfit."""
    parts, name = conversion.parts, f"x{depth}"

    def inner(part: Conversion, of: str) -> str:
        return value_sql(part, of, carrier, special, depth + 1)

    if conversion.how is How.ARRAY:
        return f"transform({value}, {name} -> {inner(parts[0][1], name)})"
    if conversion.how is How.MAP:
        return f"transform_values({value}, (k{depth}, {name}) -> {inner(parts[1][1], name)})"
    if conversion.how is How.ENTRIES:
        key, of = entry_parts(conversion, name, carrier)
        return f"map_from_entries(transform({value}, {name} -> struct({key} AS key, {of} AS value)))"
    if conversion.how is How.STRUCT:
        fields = ", ".join(f"{text(field)}, {inner(part, f'{value}.{quoted(field)}')}" for field, part in parts)
        return f"IF({value} IS NULL, NULL, named_struct({fields}))"
    rendered = FLAT[conversion.how](conversion, value, carrier)
    if special is not SpecialValues.CLAMP or not rendered.special:
        return rendered.result
    cases = " ".join(f"WHEN {condition} THEN {nearest}" for condition, nearest in rendered.special)
    return f"CASE {cases} ELSE {rendered.result} END"


def unfit_sql(
    conversion: Conversion,
    value: str,
    carrier: Carrier,
    special: SpecialValues = SpecialValues.QUARANTINE,
    depth: int = 0,
) -> str:
    """Render the condition under which a record is turned away for this value."""
    parts, name = conversion.parts, f"x{depth}"

    def inner(part: Conversion, of: str) -> str:
        return unfit_sql(part, of, carrier, special, depth + 1)

    if conversion.how is How.ARRAY:
        lost = f" OR {name} RLIKE '{JAVA_OBJECT}'" if parts[0][1].delta == "string" else ""
        return f"coalesce(exists({value}, {name} -> {inner(parts[0][1], name)}{lost}), false)"
    if conversion.how is How.MAP:
        return f"coalesce(exists(map_values({value}), {name} -> {inner(parts[1][1], name)}), false)"
    if conversion.how is How.ENTRIES:
        key, _ = entry_parts(conversion, name, carrier)
        return f"coalesce(exists({value}, {name} -> {key} IS NULL), false)"
    if conversion.how is How.STRUCT:
        fields = " OR ".join(inner(part, f"{value}.{quoted(field)}") for field, part in parts) or "false"
        return f"({value} IS NOT NULL AND ({fields}))"
    rendered = FLAT[conversion.how](conversion, value, carrier)
    unfit = f"{value} IS NOT NULL AND {rendered.result} IS NULL"
    if special is SpecialValues.QUARANTINE or not rendered.special:
        return f"({unfit})"
    conditions = " OR ".join(condition for condition, _ in rendered.special)
    return f"({unfit} AND NOT coalesce({conditions}, false))"


def entry_parts(conversion: Conversion, entry: str, carrier: Carrier) -> tuple[str, str]:
    """Return key and value of one entry. JSON has them as texts of a pair, of plain types only."""
    (_, key), (_, value) = conversion.parts
    if carrier is Carrier.AVRO:
        return f"{entry}.key", f"{entry}.value"
    return f"try_cast({entry}[0] AS {key.delta})", f"try_cast({entry}[1] AS {value.delta})"


def text(name: str) -> str:
    """Quote a text of SQL without what Spark would substitute."""
    escaped = name.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"
