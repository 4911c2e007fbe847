"""One thing that an application does: statements of one transaction, and how the transaction ends.

Names of tables and columns come from this package only, and all values are parameters.
"""
# ruff: noqa: S608

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["insert", "update", "delete", "rekey", "truncate"]
KINDS: tuple[Kind, ...] = ("insert", "update", "delete", "rekey", "truncate")
# `open` leaves the transaction open on a connection of its own, and `finish` commits that one.
End = Literal["commit", "rollback", "open", "finish"]


@dataclass(frozen=True)
class Statement:
    """One statement on one table. A rekey changes the primary key of its rows."""

    kind: Kind
    table: str
    text: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Operation:
    name: str
    statements: tuple[Statement, ...]
    end: End = "commit"


def insert(schema: str, table: str, row: Mapping[str, Any]) -> Statement:
    names = ", ".join(f'"{name}"' for name in row)
    marks = ", ".join(["%s"] * len(row))
    return Statement("insert", table, f'INSERT INTO {schema}."{table}" ({names}) VALUES ({marks})', tuple(row.values()))


def update(
    schema: str, table: str, changes: Mapping[str, Any], where: Mapping[str, Any], kind: Kind = "update"
) -> Statement:
    """Set columns of the rows that a condition selects. Without changes, the row is written as it is."""
    assignments = ", ".join(f'"{name}" = %s' for name in changes) or ", ".join(f'"{name}" = "{name}"' for name in where)
    text = f'UPDATE {schema}."{table}" SET {assignments} WHERE {condition(where)}'
    return Statement(kind, table, text, (*changes.values(), *where.values()))


def delete(schema: str, table: str, where: Mapping[str, Any]) -> Statement:
    return Statement("delete", table, f'DELETE FROM {schema}."{table}" WHERE {condition(where)}', tuple(where.values()))


def truncate(schema: str, table: str) -> Statement:
    return Statement("truncate", table, f'TRUNCATE {schema}."{table}"')


def condition(where: Mapping[str, Any]) -> str:
    """A list selects every row whose column has one of its values."""
    return " AND ".join(
        f'"{name}" = ANY(%s)' if isinstance(value, list) else f'"{name}" = %s' for name, value in where.items()
    )
