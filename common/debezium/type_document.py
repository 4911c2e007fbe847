"""Make docs/cdc-types.md from the table of types; `make docs` writes it anew."""

from common.debezium.conversions import MEANINGS
from common.debezium.source_schema import ConnectType, array_of, map_of
from common.debezium.type_rules import DEBEZIUM_DATA, DEBEZIUM_TIME, TypeRule, literal
from common.debezium.types import known_rules
from common.debezium.unchanged import marker_of
from common.settings.environment import home

DOCUMENT = "docs/cdc-types.md"
HEAD = """# Types of a source, and what they become in Delta

Made from the code by `make docs`; a test compares the two. A column's type is found by its schema name, which Connect's
JSON has in `name` and Avro in `connect.name`; without a name, or with one that is not listed, its literal type decides,
and an unknown name is said once. JSON without schemas has no types: the pipeline file declares them, or they are read
from the source's catalog.

*Has no form* names values that Delta cannot hold. The table's `special_values` decides: `quarantine` (the default),
`null`, or `clamp` to the nearest value that there is; NaN has none, and is null then. *Declare* lists what the pipeline
file may ask for instead.

| schema name | literal type | from | becomes | conversion | has no form, or is lost | declare |
| --- | --- | --- | --- | --- | --- | --- |"""


CONVERSIONS = """## Conversions

Each is a function of `common/debezium/reference.py`, and an expression of `sql_conversions.py` beside it. A value of
another shape is quarantined as `UNREPRESENTABLE`.

| conversion | JSON | Avro |
| --- | --- | --- |"""
UNCHANGED = """## Values that were not sent

PostgreSQL leaves out a large value that an update does not change. The connector writes its setting
`unavailable.value.placeholder` in its place, by type as below. Columns with *no form* need
`ALTER TABLE … REPLICA IDENTITY FULL` if their values can be large.

| literal type | of | placeholder |
| --- | --- | --- |"""


def main() -> None:
    (home() / DOCUMENT).write_text(document())


def document() -> str:
    rows = [rule_row(rule) for rule in known_rules()]
    parts = [HEAD, *rows, "", CONVERSIONS, *conversion_rows(), "", UNCHANGED, *marker_rows(), ""]
    return "\n".join(parts)


def rule_row(rule: TypeRule) -> str:
    name = f"`{rule.name}`" if rule.name else "–"
    declare = " or ".join(f"`{each}`" for each in rule.alternatives)
    cells = (name, rule.kind, rule.sources, rule.becomes, conversion_name(rule), rule.loses, declare)
    return f"| {' | '.join(cells)} |"


def conversion_name(rule: TypeRule) -> str:
    if rule.convert is literal:
        return rule.kind
    conversion = rule.convert(ConnectType(rule.kind))
    return conversion.how if conversion.unit is None else f"{conversion.how}, {conversion.unit}"


def conversion_rows() -> list[str]:
    return [f"| {how} | {in_json} | {in_avro} |" for how, (in_json, in_avro) in MEANINGS.items()]


def marker_rows() -> list[str]:
    text, json = ConnectType("string"), ConnectType("string", DEBEZIUM_DATA + "Json")
    types = {
        "texts without a name, xml, tsvector, ltree": text,
        "json, jsonb, hstore by `json`": json,
        "bytea": ConnectType("bytes"),
        "text[], varchar[], char[]": array_of(text),
        "json[], jsonb[]": array_of(json),
        "bytea[]": array_of(ConnectType("bytes")),
        "int[]": array_of(ConnectType("int32")),
        "date[]": array_of(ConnectType("int32", DEBEZIUM_TIME + "Date")),
        "bigint[]": array_of(ConnectType("int64")),
        "uuid[]": array_of(ConnectType("string", DEBEZIUM_DATA + "Uuid")),
        "hstore": map_of(text, text),
        "every other array, vectors": array_of(ConnectType("float64")),
        "numeric without a scale, geometry": ConnectType("struct", DEBEZIUM_DATA + "VariableScaleDecimal"),
        "numbers, booleans, times, enum, uuid": ConnectType("int64"),
    }
    return [f"| {connect.kind} | {of} | {marker_of(connect)} |" for of, connect in types.items()]


if __name__ == "__main__":
    main()
