"""Parses SKEWED BY (columns) ON (values) of CREATE TABLE and ALTER TABLE. Pure.

Grammar: Hive's HiveParser.g (tableSkewed). Errors that do not depend on the table have the codes of Hive's ErrorMsg.
"""

from __future__ import annotations

from dataclasses import dataclass

from spark_client.errors import InvalidStatementError
from spark_client.statements.grammar.reader import Reader, usage


@dataclass(frozen=True, slots=True)
class SkewedBy:
    """SKEWED BY (columns) ON (values). Each value is a tuple of SQL literals as written, one for each column."""

    columns: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    directories: bool


def columns_and_values(reader: Reader) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Parses (c1, c2 …) ON (v1, v2 …), after SKEWED BY."""
    with usage("SKEWED BY (column, …) ON (value, …) [STORED AS DIRECTORIES]"):
        return columns(reader), values(reader)


def columns(reader: Reader) -> tuple[str, ...]:
    """Parses (c1, c2 …)."""
    names: list[str] = []
    reader.expect("(")
    while not reader.take(")"):
        if names:
            reader.expect(",")
        names.append(reader.identifier())
    return tuple(names)


def values(reader: Reader) -> tuple[tuple[str, ...], ...]:
    """Parses ON (v1, v2 …), or ON ((v1, w1), (v2, w2) …)."""
    listed: list[tuple[str, ...]] = []
    reader.expect("ON")
    reader.expect("(")
    while not reader.take(")"):
        if listed:
            reader.expect(",")
        listed.append(value(reader))
    return tuple(listed)


def value(reader: Reader) -> tuple[str, ...]:
    """Parses v, or (v, w …)."""
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
    """Returns the clause. Raises InvalidStatementError if no table can have it. `table` is the name as written."""
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
