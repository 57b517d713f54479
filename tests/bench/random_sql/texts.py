"""Pairs of SQL texts: the same expression for Spark and for SQLite. Literals, conditions and values of random columns.

SQLite stores decimals as whole cents, dates and timestamps as texts, booleans as 0 and 1, arrays as JSON.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

INT, LONG, TEXT, SHORT_TEXT, DATE, TIME, MONEY, BOOL, REAL, LIST = (
    "INT",
    "BIGINT",
    "STRING",
    "VARCHAR(20)",
    "DATE",
    "TIMESTAMP",
    "DECIMAL(10,2)",
    "BOOLEAN",
    "DOUBLE",
    "ARRAY<INT>",
)
TEXTS = (TEXT, SHORT_TEXT)
VALUES: dict[str, tuple[Any, ...]] = {
    INT: (-7, -1, 0, 1, 2, 3, 2_000_000_000),
    TEXT: (
        "",
        "x",
        "X",
        "y/z",
        "a=b",
        "%41",
        "o'clock",
        "1",
        "01",
        " 1",
        "x ",
        "null",
        "ä ö",
        "日本",
        "😀",
        "back\\slash",
        "_x",
    ),
    DATE: ("1969-12-31", "2000-02-29", "2024-01-01", "2024-12-31"),
    TIME: ("1969-12-31 23:59:59", "2024-03-10 02:30:00", "2024-07-01 12:00:00"),
    MONEY: (-10050, -1, 0, 99, 100, 123456),
    BOOL: (0, 1),
    REAL: (-1.5, 0.0, 0.25, 1000.0),
    LIST: ("[]", "[1]", "[1,null,3]"),
}
VALUES[SHORT_TEXT] = VALUES[TEXT]
_PATTERNS = ("%x%", "_", "%", "y/%", "%=b", "x_", "ä%")


class Sql(NamedTuple):
    """One expression or condition in both dialects."""

    spark: str
    sqlite: str


@dataclass(frozen=True)
class Column:
    """A column of a random table."""

    name: str
    type: str
    default: Any = None  # as SQLite stores it

    @property
    def quoted(self) -> Sql:
        return self.of(None)

    def of(self, alias: str | None) -> Sql:
        """Returns the reference to the column of the table with this alias."""
        prefix = f"{alias}." if alias else ""
        return Sql(f"{prefix}`{self.name}`", f'{prefix}"{self.name}"')


def both(template: str, *parts: Sql) -> Sql:
    """Returns the template filled in for each dialect."""
    return Sql(template.format(*(part.spark for part in parts)), template.format(*(part.sqlite for part in parts)))


def pair(spark: str, sqlite: str, *parts: Sql) -> Sql:
    """Returns two templates, filled in for their dialects."""
    return Sql(spark.format(*(part.spark for part in parts)), sqlite.format(*(part.sqlite for part in parts)))


def joined(separator: str, parts: Sequence[Sql]) -> Sql:
    return Sql(separator.join(part.spark for part in parts), separator.join(part.sqlite for part in parts))


def literal(type_: str, value: Any) -> Sql:
    """Returns a value as SQLite stores it as a literal of the type."""
    if value is None:
        return Sql(f"CAST(NULL AS {type_})", "NULL")
    text = str(value)
    doubled = "'" + text.replace("'", "''") + "'"
    if type_ in TEXTS:
        return Sql("'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'", doubled)
    if type_ in (DATE, TIME):
        return Sql(f"{type_}'{text}'", doubled)
    if type_ == BOOL:
        return Sql("true" if value else "false", text)
    if type_ == MONEY:
        return Sql(f"CAST('{money(value)}' AS {MONEY})", f"({text})")
    if type_ == REAL:
        return Sql(f"({text}D)", f"({text})")
    if type_ == LIST:
        elements = ", ".join("NULL" if each is None else str(each) for each in json.loads(value))
        return Sql(f"CAST(array({elements}) AS {LIST})", doubled)
    return Sql(f"({text})", f"({text})")


def constant(type_: str, value: Any) -> str:
    """Returns a value as Spark's PARTITION and SKEWED BY clauses accept it, without casts and parentheses."""
    text = text_of(type_, value)
    return str(text) if type_ in (INT, LONG, BOOL) else literal(TEXT, text).spark


def money(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}{abs(cents) // 100}.{abs(cents) % 100:02}"


def shown(column: Sql, type_: str) -> str:
    """Returns Spark's text of a value, as `text_of` returns it for SQLite."""
    return f"to_json({column.spark})" if type_ == LIST else f"CAST({column.spark} AS STRING)"


def text_of(type_: str, value: Any) -> str | None:
    """Returns the text that Spark shows for a value of SQLite."""
    if value is None:
        return None
    if type_ == BOOL:
        return "true" if value else "false"
    if type_ == MONEY:
        return money(value)
    return str(float(value)) if type_ == REAL else str(value)


def random_value(chance: random.Random, type_: str, *, nullable: bool = True) -> Any:
    """Returns a value as SQLite stores it."""
    if type_ == LONG:
        return chance.randrange(40)
    return None if nullable and chance.random() < 0.15 else chance.choice(VALUES[type_])


def condition(chance: random.Random, columns: Sequence[Column], alias: str | None = None, depth: int = 2) -> Sql:
    """Returns a random condition on the columns. It may be null for some rows.

    Lists of IN contain no NULL, at which Spark's reader of ORC files fails.
    """
    if depth and chance.random() < 0.5:
        parts = [condition(chance, columns, alias, depth - 1) for _ in range(2)]
        return chance.choice(
            [both("({} AND {})", *parts), both("({} OR {})", *parts), both("(NOT {})", parts[0]), parts[1]]
        )
    column = chance.choice(columns)
    name, type_ = column.of(alias), column.type
    if type_ == LIST or chance.random() < 0.1:
        return both("{} IS NULL" if chance.random() < 0.5 else "{} IS NOT NULL", name)
    values = [literal(type_, random_value(chance, type_, nullable=False)) for _ in range(3)]
    other = chance.choice([each for each in columns if each.type == type_]).of(alias)
    choices = [
        both("{} " + chance.choice(["=", "<>", "<", "<=", ">", ">="]) + " {}", name, values[0]),
        both("{} IN ({}, {})", name, *values[:2]),
        both("{} NOT IN ({}, {})", name, *values[:2]),
        both("{} BETWEEN {} AND {}", name, *values[:2]),
        pair("{} <=> {}", "{} IS {}", name, chance.choice([values[0], literal(type_, None)])),
        both("coalesce({}, {}) = {}", name, *values[:2]),
        both("{} >= {}", name, other),
        both("CASE WHEN {} = {} THEN {} ELSE {} END = {}", name, values[0], values[1], name, values[2]),
        *_special(chance, name, type_),
    ]
    return both("({})", chance.choice(choices))


def _special(chance: random.Random, name: Sql, type_: str) -> list[Sql]:
    """Returns conditions that only this type has."""
    number = str(chance.randrange(4))
    if type_ in TEXTS:
        pattern = chance.choice(_PATTERNS)
        return [
            both("{} LIKE '" + pattern + "'", name),
            both("{} NOT LIKE '" + pattern + "'", name),
            both("length({}) > " + number, name),
            both("substr({}, 1, 1) = 'x'", name),
            both("{} || 'x' = 'xx'", name),
            both("trim({}) = '1'", name),
        ]
    if type_ in (INT, LONG):
        return [both("{} % 3 = " + number, name), both("abs({}) <= " + number, name), both("-{} < " + number, name)]
    if type_ == DATE:
        return [
            pair("year({}) = 2024", "CAST(strftime('%Y', {}) AS INT) = 2024", name),
            pair("date_add({}, 1) = DATE'2025-01-01'", "date({}, '+1 day') = '2025-01-01'", name),
            pair("CAST({} AS STRING) LIKE '2024%'", "{} LIKE '2024%'", name),
        ]
    if type_ == TIME:
        return [
            pair("CAST({} AS DATE) = DATE'2024-07-01'", "date({}) = '2024-07-01'", name),
            pair("hour({}) = 12", "CAST(strftime('%H', {}) AS INT) = 12", name),
        ]
    if type_ == BOOL:
        # Not the name alone: Spark reads `FROM t WHERE (b)` as a table alias with a column alias.
        return [both("NOT {}", name), pair("{} IS TRUE", "{} IS 1", name), both("{} OR {}", name, name)]
    if type_ == MONEY:
        return [pair("{} * 2 > 1.98", "{} * 2 > 198", name), pair("{} = 1", "{} = 100", name)]
    return []


def changed(chance: random.Random, column: Column) -> Sql:
    """Returns a new value for a column in an UPDATE: a literal, or an expression of the old value."""
    name, type_ = column.quoted, column.type
    choices = [literal(type_, random_value(chance, type_))]
    if type_ in TEXTS:
        choices += [both("substr({} || 'n', 1, 12)", name), pair("nullif({}, 'x')", "nullif({}, 'x')", name)]
    if type_ == MONEY:
        choices += [pair("{} % 1000 + 1.25", "{} % 100000 + 125", name)]
    if type_ == INT:
        choices += [both("{} % 1000 + 1", name)]
    if type_ == DATE:
        choices += [pair("date_add({}, 1)", "date({}, '+1 day')", name)]
    if type_ == BOOL:
        choices += [both("NOT {}", name)]
    return chance.choice(choices)
