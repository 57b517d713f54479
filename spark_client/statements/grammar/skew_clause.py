"""SKEWED BY (columns) ON (values), as it stands in CREATE TABLE and ALTER TABLE: tokens in, a dataclass out. Pure.

Grammar: Hive's HiveParser.g (tableSkewed). What needs no table is checked here, with the codes of Hive's ErrorMsg.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader


@dataclass(frozen=True, slots=True)
class SkewedBy:
    """SKEWED BY (columns) ON (values): each value is as many SQL literals, as written, as there are columns."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    directories: bool


def columns(reader: Reader) -> tuple[str, ...]:
    """(c1, c2 …)"""
    names: list[str] = []
    reader.expect("(")
    while not reader.take(")"):
        if names:
            reader.expect(",")
        names.append(reader.identifier())
    return tuple(names)


def values(reader: Reader) -> tuple[tuple[str, ...], ...]:
    """ON (v1, v2 …), or ON ((v1, w1), (v2, w2) …)"""
    found: list[tuple[str, ...]] = []
    reader.expect("ON")
    reader.expect("(")
    while not reader.take(")"):
        if found:
            reader.expect(",")
        found.append(value(reader))
    return tuple(found)


def value(reader: Reader) -> tuple[str, ...]:
    """v, or (v, w …)"""
    if not reader.take("("):
        return (reader.literal(),)
    literals: list[str] = []
    while not reader.take(")"):
        if literals:
            reader.expect(",")
        literals.append(reader.literal())
    return tuple(literals)


def skewed_by(
    table: str, columns: tuple[str, ...], values: tuple[tuple[str, ...], ...], *, directories: bool
) -> SkewedBy:
    """Raises InvalidStatementError for what fits no table; `table` is its name as written."""
    if not columns:
        raise InvalidStatementError(f"[Error 10200]: No skewed column name. (table {table})")
    if not values:
        raise InvalidStatementError(f"[Error 10201]: No skewed values. (table {table})")
    doubled = next((name for name in columns if columns.count(name) > 1), None)
    if doubled is not None:
        raise InvalidStatementError(f"[Error 10202]: Duplicate skewed column name: {doubled} (table {table})")
    uneven = next((row for row in values if len(row) != len(columns)), None)
    if uneven is not None:
        raise InvalidStatementError(
            "[Error 10206]: The number of skewed column names and the number of skewed column values are different: "
            f"{len(columns)} : {len(uneven)} in ({', '.join(uneven)}) (table {table}, skewed by {', '.join(columns)})"
        )
    return SkewedBy(columns, values, directories)
