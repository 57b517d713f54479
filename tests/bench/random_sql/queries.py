"""Random queries over one or two tables, in both dialects."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from tests.bench.random_sql.tables import ID, Table
from tests.bench.random_sql.texts import (
    BOOL,
    INT,
    LIST,
    LONG,
    MONEY,
    Column,
    Sql,
    both,
    condition,
    joined,
    shown,
)


class Query(NamedTuple):
    """A query, and the types of its columns. Spark's text casts them to STRING."""

    text: Sql
    types: tuple[str, ...]

    @property
    def spark(self) -> str:
        names = [f"c{number}" for number in range(len(self.types))]
        texts = ", ".join(shown(Sql(name, name), type_) for name, type_ in zip(names, self.types, strict=True))
        return f"SELECT {texts} FROM ({self.text.spark}) AS q({', '.join(names)})"


def all_rows(table: Table) -> Query:
    return _select(table.columns, both("SELECT {} FROM " + table.name, _names(table.columns)))


def random_query(chance: random.Random, table: Table, others: Sequence[Table]) -> Query:
    kinds = [_filtered, _filtered, _counted, _grouped, _limited, _window, _sets]
    if others:
        other = chance.choice(others)
        kinds += [
            lambda chance, table: _joined(chance, table, other),
            lambda chance, table: _related(chance, table, other),
        ]
    return chance.choice(kinds)(chance, table)


def _names(columns: Sequence[Column], alias: str | None = None) -> Sql:
    return joined(", ", [column.of(alias) for column in columns])


def _select(columns: Sequence[Column], text: Sql) -> Query:
    return Query(text, tuple(column.type for column in columns))


def _some(chance: random.Random, columns: Sequence[Column], most: int = 3) -> list[Column]:
    return chance.sample(columns, min(len(columns), chance.randrange(1, most + 1)))


def _comparable(table: Table) -> list[Column]:
    return [column for column in table.columns if column.type != LIST]


def _filtered(chance: random.Random, table: Table) -> Query:
    columns = _some(chance, table.columns)
    where = condition(chance, table.columns, depth=3)
    return _select(columns, both("SELECT {} FROM " + table.name + " WHERE {}", _names(columns), where))


def _counted(chance: random.Random, table: Table) -> Query:
    column = chance.choice(_comparable(table)).quoted
    type_ = next(each.type for each in table.columns if each.quoted == column)
    parts = [both("count(*)"), both("count({})", column), both("count(DISTINCT {})", column)]
    types = [LONG, LONG, LONG]
    if type_ != BOOL:
        parts += [both("min({})", column), both("max({})", column)]
        types += [type_, type_]
    if type_ in (INT, LONG, MONEY):
        parts, types = [*parts, both("sum({})", column)], [*types, type_]
    where = both(" WHERE {}", condition(chance, table.columns)) if chance.random() < 0.6 else Sql("", "")
    return Query(both("SELECT {} FROM " + table.name + "{}", joined(", ", parts), where), tuple(types))


def _grouped(chance: random.Random, table: Table) -> Query:
    columns = _some(chance, _comparable(table), 2)
    names = _names(columns)
    having = chance.choice(["", " HAVING count(*) > 1", f" HAVING max({ID.quoted.spark}) < 20"])
    text = both("SELECT {}, count(*) FROM " + table.name + " GROUP BY {}", names, names)
    return Query(
        Sql(text.spark + having, text.sqlite + having.replace("`", '"')), (*(column.type for column in columns), LONG)
    )


def _limited(chance: random.Random, table: Table) -> Query:
    """ORDER BY all columns of the result: which rows are in it is then determined."""
    columns = _some(chance, _comparable(table))
    order = joined(", ", [both("{} " + chance.choice(["ASC", "DESC"]), column.quoted) for column in columns])
    limit = f" LIMIT {chance.randrange(1, 6)}"
    text = both("SELECT {} FROM " + table.name + " ORDER BY {}", _names(columns), order)
    return _select(columns, Sql(text.spark + limit, text.sqlite + limit))


def _window(chance: random.Random, table: Table) -> Query:
    column, key = chance.choice(table.columns), chance.choice(_comparable(table))
    text = both(
        "SELECT {}, count(*) OVER (PARTITION BY {}), sum({}) OVER (PARTITION BY {}) FROM " + table.name,
        *(each.quoted for each in (column, key, ID, key)),
    )
    return Query(text, (column.type, LONG, LONG))


def _sets(chance: random.Random, table: Table) -> Query:
    columns = _some(chance, _comparable(table), 2)
    half = "SELECT {} FROM " + table.name + " WHERE {} "
    first, second = (both(half, _names(columns), condition(chance, table.columns)) for _ in range(2))
    return _select(
        columns, both("{} " + chance.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]) + " {}", first, second)
    )


def _pair(chance: random.Random, table: Table, other: Table) -> tuple[Column, Column]:
    """Returns a column of each table, of the same type."""
    pairs = [(one, two) for one in _comparable(table) for two in _comparable(other) if one.type == two.type]
    return chance.choice(pairs)


def _joined(chance: random.Random, table: Table, other: Table) -> Query:
    left, right = _pair(chance, table, other)
    kind = chance.choice(["JOIN", "LEFT JOIN", "FULL JOIN"])
    column, second = chance.choice(table.columns), chance.choice(other.columns)
    on = both("{} = {}", left.of("x"), right.of("y"))
    if chance.random() < 0.4:
        on = both("{} AND {}", on, condition(chance, other.columns, "y", 1))
    text = both(
        "SELECT {}, {} FROM " + f"{table.name} x {kind} {other.name} y" + " ON {}", column.of("x"), second.of("y"), on
    )
    return Query(text, (column.type, second.type))


def _related(chance: random.Random, table: Table, other: Table) -> Query:
    """Sub-queries in the condition: IN, NOT IN, EXISTS, NOT EXISTS, and a scalar."""
    left, right = _pair(chance, table, other)
    where = condition(chance, other.columns, "y", 1)
    inner = both("FROM " + other.name + " y WHERE {}", where)
    one, two = left.of("x"), right.of("y")
    condition_ = chance.choice(
        [
            both("{} IN (SELECT {} {})", one, two, inner),
            both("{} NOT IN (SELECT {} {})", one, two, inner),
            both("EXISTS (SELECT 1 {} AND {} = {})", inner, one, two),
            both("NOT EXISTS (SELECT 1 {} AND {} = {})", inner, one, two),
            both("{} = (SELECT max({}) {})", one, two, inner)
            if left.type != BOOL
            else both("{} IN (SELECT {} {})", one, two, inner),
        ]
    )
    column = chance.choice(table.columns)
    return _select([column], both("SELECT {} FROM " + table.name + " x WHERE {}", column.of("x"), condition_))
